# Modules that code of notebooks relies on: IPython.display where IPython is not installed, and Pillow, whose images are
# shown when a cell shows or saves them.
#
# Behind rich_results.py. Only imports by cells get the stand-in: a library that looks for IPython does not find one.
import importlib.abc, importlib.util

_STAND_INS = ("IPython", "IPython.display", "IPython.core", "IPython.core.display")
_run_rich = run


def run():
    """Serves cells, with rich results and these modules."""
    sys.meta_path.append(_StandIns())
    sys.meta_path.insert(0, _ImportListener("PIL.Image", _show_images))
    _run_rich()


class _Shown:
    """Content of one kind, as IPython.display has it."""

    kind = "text/plain"

    def __init__(self, data=None, url=None, filename=None, **ignored):
        if filename is not None:
            with open(filename, "rb") as file:
                data = file.read()
        if data is None and url is not None:
            raise NotImplementedError("content of a URL is not fetched; pass its data")
        self.data = data

    def __repr__(self):
        return f"<IPython.core.display.{type(self).__name__} object>"

    def _repr_mimebundle_(self, **ignored):
        data = self.data
        if isinstance(data, bytes) and not self.kind.startswith("image/"):
            data = data.decode(errors="replace")
        return {self.kind: data}


class _ShownImage(_Shown):
    def _repr_mimebundle_(self, **ignored):
        data = self.data
        if isinstance(data, str) and os.path.exists(data):
            with open(data, "rb") as file:
                data = file.read()
        if not isinstance(data, (bytes, bytearray)):
            raise ValueError("an image needs bytes, or the name of a file")
        is_jpeg = bytes(data[:2]) == b"\xff\xd8"
        return {"image/jpeg" if is_jpeg else "image/png": bytes(data)}


def _shown(name, kind, base=_Shown):
    return type(name, (base,), {"kind": kind})


def _publish(data, metadata=None, **ignored):
    _send_result({kind: _encoded(form) for kind, form in data.items()}, main=False)


def _names_of_display():
    names = {
        "HTML": "text/html",
        "Markdown": "text/markdown",
        "Latex": "text/latex",
        "Math": "text/latex",
        "SVG": "image/svg+xml",
        "JSON": "application/json",
        "Javascript": "application/javascript",
        "Pretty": "text/plain",
    }
    found = {name: _shown(name, kind) for name, kind in names.items()}
    found["Image"] = _shown("Image", "image/png", _ShownImage)
    found["display"], found["publish_display_data"] = display, _publish
    found["clear_output"] = lambda wait=False: None
    return found


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last of all finders: what is installed comes first."""

    def find_spec(self, name, path=None, target=None):
        if name not in _STAND_INS or not (name in sys.modules or "IPython" in sys.modules or _is_import_of_a_cell()):
            return None
        return importlib.util.spec_from_loader(name, self, is_package=name in ("IPython", "IPython.core"))

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        if module.__name__ == "IPython":
            module.get_ipython = lambda: None
            module.version_info = (0, 0, 0)
            module.__version__ = "0.0.0"
        if module.__name__ != "IPython.core":
            vars(module).update(_names_of_display())


def _is_import_of_a_cell():
    frame = sys._getframe()
    own = frame.f_code.co_filename
    while frame is not None:
        name = frame.f_code.co_filename
        if name != own and not name.startswith("<frozen importlib"):
            return name.startswith("<cell ")
        frame = frame.f_back
    return False


def _show_images(module):
    save = module.Image.save

    def show(self, *ignored, **more_ignored):
        display(self)

    def save_and_show(self, *args, **options):
        save(self, *args, **options)
        # Libraries save images for purposes of their own.
        if sys._getframe(1).f_code.co_filename.startswith("<cell "):
            display(self)

    module.Image.show, module.Image.save = show, save_and_show
