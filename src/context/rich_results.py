# Rich results: what a cell shows is reported as it appears, in all the forms that it has: HTML, images, data, charts.
#
# Behind cell_driver.py and charts.py. Each result is a record `display ID JSON`: an object with `main`, true for the
# value of the cell's last expression, and `forms`, from MIME types to texts (images as base64) or JSON values. It never
# imports IPython, pandas or matplotlib by itself.
import base64, builtins, io, re, shlex, subprocess

MOST_RESULT = 6 * 1024 * 1024
DATA_TYPE = "application/vnd.cloche.data+json"
CHART_TYPE = "application/vnd.cloche.chart+json"

_FORMS = {
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
    "image/svg+xml": "_repr_svg_",
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
    "application/pdf": "_repr_pdf_",
    "text/latex": "_repr_latex_",
    "application/json": "_repr_json_",
    "application/javascript": "_repr_javascript_",
}
_display_id = None
_run_plain = run


def run():
    """Serves cells, as without rich results, with `display` for them."""
    builtins.display = display
    sys.meta_path.insert(0, _ImportListener("IPython.core.display_functions", _take_over_ipython))
    _run_plain()


def display(*values, raw=False, **ignored):
    """Shows values in all their forms."""
    for value in values:
        _send_result(dict(value) if raw else _forms_of(value), main=False)


def _send_result(forms, main):
    text = _clean(_dumps({"main": main, "forms": forms}, ensure_ascii=False, default=str))
    if len(text) > MOST_RESULT:
        note = _cut(str(forms.get("text/plain", "")), MOST_VALUE) or "<a result without text>"
        text = _clean(_dumps({"main": main, "forms": {"text/plain": note}, "cut": True}, ensure_ascii=False))
    if _getpid() != _pid or _display_id is None:
        print(forms.get("text/plain", ""))  # a process that a cell forked, or a thread between two cells
        return
    _flush()
    _send(f"display {_display_id} {text}")


def _forms_of(value):
    forms = {"text/plain": _cut(repr(value), MOST_VALUE)}
    if isinstance(value, type):
        return forms
    bundle = _call(value, "_repr_mimebundle_")
    bundle = bundle[0] if isinstance(bundle, tuple) else bundle
    if isinstance(bundle, dict):
        forms.update({kind: _encoded(form) for kind, form in bundle.items() if form is not None})
    for kind, method in _FORMS.items():
        form = _call(value, method) if kind not in forms else None
        form = form[0] if isinstance(form, tuple) else form
        if form is not None:
            forms[kind] = _encoded(form)
    forms.update(_forms_of_figure(value))
    forms.update(_forms_of_table(value))
    return forms


def _call(value, method):
    """What the method returns; None if it does not exist or fails."""
    try:
        found = getattr(value, method, None)
        return found() if callable(found) else None
    except Exception:
        return None


def _encoded(form):
    return base64.b64encode(form).decode() if isinstance(form, (bytes, bytearray)) else form


def _forms_of_figure(value):
    module = sys.modules.get("matplotlib.figure")
    if module is None or not isinstance(value, module.Figure):
        return {}
    image = io.BytesIO()
    value.savefig(image, format="png", bbox_inches="tight")
    forms = {"image/png": _encoded(image.getvalue())}
    try:
        forms[CHART_TYPE] = chart_of(value)
    except Exception:
        pass  # a chart of a kind that is not known here; its image is complete
    return forms


def _forms_of_table(value):
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(value, getattr(pandas, "DataFrame", ())):
        return {}
    try:
        columns = _loads(value.reset_index(drop=True).to_json(orient="columns", date_format="iso"))
    except Exception:
        return {}  # columns of the same name, or values that JSON has no form for
    return {DATA_TYPE: {name: list(column.values()) for name, column in columns.items()}}


class _RichFigures(_Figures):
    """Shows open figures and closes them."""

    def save(self, figure):
        _send_result(_forms_of(figure), main=False)
        return f"{self.prefix}{len(self.saved)}"


_save_where_shown_plainly = _save_where_shown


def _save_where_shown(pyplot):
    remember_boxes(pyplot)
    _save_where_shown_plainly(pyplot)


def _new_figures(request):
    global _display_id
    _display_id = request["id"]
    return _RichFigures("", request["most_figures"])


def _report_value(value, report):
    forms = _forms_of(value)
    if "image/png" in forms and CHART_TYPE in forms:
        sys.modules["matplotlib.pyplot"].close(value)  # it is not shown a second time
    if isinstance(value, str):
        forms["text/plain"] = _cut(value, MOST_VALUE)
    _send_result(forms, main=True)


# The sources of notebooks: indented as a whole, with lines for a shell and for the notebook itself.


def _prepared(source):
    lines = source.split("\n")
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    if indent and all(line.startswith(indent) or not line.strip() for line in lines):
        lines = [line[len(indent) :] for line in lines]
        source = "\n".join(lines)
    try:
        compile(source, "<cell>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        return source
    except SyntaxError:
        if lines and lines[0].startswith(("%%bash", "%%sh")):
            shell = "\n".join(lines[1:])
            return f"__import__('builtins')._cloche_shell({shell!r})"
        return "\n".join(_notebook_line(line) for line in lines)


def _notebook_line(line):
    match = re.match(r"(\s*)([!%])(.*)", line)
    if match is None:
        return line
    indent, mark, rest = match.groups()
    name = "_cloche_shell" if mark == "!" else "_cloche_magic"
    return f"{indent}__import__('builtins').{name}({rest!r})"


def _shell(line):
    _flush()
    subprocess.run(["/bin/bash", "-c", line] if os.path.exists("/bin/bash") else ["/bin/sh", "-c", line])


def _magic(line):
    name, _, rest = line.partition(" ")
    if name == "pip":
        _flush()
        subprocess.run([sys.executable or "python3", "-m", "pip", *shlex.split(rest)])
    elif name == "cd":
        os.chdir(os.path.expanduser(rest.strip() or "~"))
    elif name == "env":
        variable, _, value = rest.partition("=")
        os.environ[variable.strip()] = value.strip()
    elif name != "matplotlib":
        raise NameError(f"no such magic command: %{name}")


builtins._cloche_shell, builtins._cloche_magic = _shell, _magic


# IPython, where a cell imports it: its display() and publish_display_data() end here.


def _take_over_ipython(module):
    def publish(data, metadata=None, **ignored):
        _send_result({kind: _encoded(form) for kind, form in data.items()}, main=False)

    module.display, module.publish_display_data = display, publish
