# Handles matplotlib's figures without a screen: each is saved as a PNG file and closed. This text is put before the
# source that uses it. It never imports matplotlib by itself.
import os, sys


_CACHE = "/tmp/.matplotlib"  # in a home that is the workspace it would be an artifact


def _set_up_matplotlib():
    os.environ.setdefault("MPLBACKEND", "Agg")  # there is no screen
    os.environ.setdefault("MPLCONFIGDIR", _CACHE)


class _Figures:
    """Saves open figures as PREFIX, a number and .png, up to so many; never over a file that is there."""

    def __init__(self, prefix, most):
        self.prefix, self.most = prefix, most
        self.saved, self.left_out, self.tried = [], 0, 0

    def save_all(self, pyplot):
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            if len(self.saved) >= self.most:
                self.left_out += 1
                continue
            try:
                self.saved.append(self.save(figure))
            except Exception as error:
                self.left_out += 1
                print(f"a figure could not be saved: {error}", file=sys.stderr)
        pyplot.close("all")

    def tell_of_left_out(self):
        if self.left_out:
            print(f"figures that were not saved: {self.left_out}", file=sys.stderr)

    def save(self, figure):
        os.makedirs(os.path.dirname(self.prefix), exist_ok=True)
        while True:
            self.tried += 1
            path = f"{self.prefix}{self.tried}.png"
            try:
                file = open(path, "xb")
            except FileExistsError:
                continue
            try:
                with file:
                    figure.savefig(file, format="png", bbox_inches="tight")
            except BaseException:
                os.unlink(path)
                raise
            return path


class _ImportListener:
    """Notices the import of a module by any other, and calls `notify` before the import returns."""

    def __init__(self, module, notify):
        self.module, self.notify = module, notify

    def find_spec(self, name, path=None, target=None):
        if name != self.module:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None) if finder is not self else None
            spec = find(name, path, target) if find else None
            if spec is not None:
                self.listen_to(spec.loader)
                return spec
        return None

    def listen_to(self, loader):
        load = getattr(loader, "exec_module", None)
        if load is None:
            return

        def exec_module(module):
            # Fonts are looked for now, by a program that has a cache of its own.
            moved = "XDG_CACHE_HOME" not in os.environ
            if moved:
                os.environ["XDG_CACHE_HOME"] = _CACHE
            try:
                load(module)
            finally:
                if moved:
                    os.environ.pop("XDG_CACHE_HOME", None)
            self.notify(module)

        loader.exec_module = exec_module


def _take_over_show(pyplot, figures):
    """From now on show() saves what is open to figures(), where there are any."""

    def show(*args, **kwargs):
        """Saves all open figures and closes them."""
        if figures() is not None:
            figures().save_all(pyplot)

    show.is_cloche = True
    if not getattr(getattr(pyplot, "show", None), "is_cloche", False):
        pyplot.show = show
