# Charts: what a matplotlib figure shows, as data: lines, points, bars, pies, boxes.
#
# chart_of(figure) returns an object that JSON has. Before rich_results.py.
import math, re, sys


def chart_of(figure):
    """The chart of the figure's only plot, or one that consists of several."""
    charts = [_chart_of_axes(axes) for axes in figure.axes]
    charts = [chart for chart in charts if chart["elements"]] or charts[:1]
    if len(charts) == 1:
        return charts[0]
    heading = getattr(figure, "_suptitle", None)
    return {"type": "superchart" if charts else "unknown", "title": _text(heading), "elements": charts}


def remember_boxes(pyplot):
    """From now on plots know the numbers behind their boxes, which are not to be had from what is drawn."""
    axes = sys.modules["matplotlib.axes"].Axes
    draw = axes.bxp
    if getattr(draw, "is_cloche", False):
        return

    def bxp(self, bxpstats, *args, **kwargs):
        bxpstats = list(bxpstats)
        drawn = draw(self, bxpstats, *args, **kwargs)
        self.__dict__.setdefault("_cloche_boxes", []).extend(bxpstats)
        return drawn

    bxp.is_cloche = True
    axes.bxp = bxp


def _chart_of_axes(axes):
    for kind, find in (("box_and_whisker", _boxes), ("pie", _slices), ("bar", _bars), ("line", _lines),
                       ("scatter", _points)):
        elements = find(axes)
        if elements:
            return _described(axes, kind, elements)
    return _described(axes, "unknown", [])


def _described(axes, kind, elements):
    chart = {"type": kind, "title": axes.get_title() or None, "elements": elements}
    if kind == "pie":
        return chart
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        label = axis.get_label().get_text()
        unit = re.search(r"\(([^()]*)\)", label)
        chart[f"{name}_label"] = label or None
        chart[f"{name}_unit"] = unit.group(1) if unit else None
        if kind in ("line", "scatter"):
            chart[f"{name}_ticks"] = [_place(axis, tick) for tick in axis.get_ticklocs()]
            chart[f"{name}_tick_labels"] = [tick.get_text() for tick in axis.get_ticklabels()]
            chart[f"{name}_scale"] = _scale(axis)
    return chart


def _boxes(axes):
    return [
        {
            "label": str(box.get("label", "")),
            "min": _number(box["whislo"]),
            "first_quartile": _number(box["q1"]),
            "median": _number(box["med"]),
            "third_quartile": _number(box["q3"]),
            "max": _number(box["whishi"]),
            "outliers": [_number(value) for value in box.get("fliers", ())],
        }
        for box in axes.__dict__.get("_cloche_boxes", ())
    ]


def _slices(axes):
    wedge = sys.modules["matplotlib.patches"].Wedge
    return [
        {"label": patch.get_label(), "angle": _number(round(float(patch.theta2 - patch.theta1), 4)), "radius": _number(patch.r)}
        for patch in axes.patches
        if isinstance(patch, wedge)
    ]


def _bars(axes):
    bars = []
    for group in axes.containers:
        if not hasattr(group, "patches") or not group.patches:
            continue
        lying = getattr(group, "orientation", None) == "horizontal"
        axis = axes.yaxis if lying else axes.xaxis
        names = {round(place, 6): tick.get_text() for place, tick in zip(axis.get_ticklocs(), axis.get_ticklabels())}
        for bar in group.patches:
            middle = bar.get_y() + bar.get_height() / 2 if lying else bar.get_x() + bar.get_width() / 2
            value = bar.get_width() if lying else bar.get_height()
            label = names.get(round(middle, 6)) or str(_number(middle))
            bars.append({"label": label, "group": _name(group), "value": _number(value)})
    return bars


def _lines(axes):
    return [
        {"label": _name(line), "points": _pairs(axes, zip(line.get_xdata(orig=False), line.get_ydata(orig=False)))}
        for line in axes.get_lines()
        if line.get_transform().contains_branch(axes.transData) and len(line.get_xdata()) > 0
    ]


def _points(axes):
    kind = sys.modules["matplotlib.collections"].PathCollection
    return [
        {"label": _name(cloud), "points": _pairs(axes, cloud.get_offsets().tolist())}
        for cloud in axes.collections
        if isinstance(cloud, kind)
    ]


def _pairs(axes, pairs):
    return [[_place(axes.xaxis, x), _place(axes.yaxis, y)] for x, y in pairs]


def _place(axis, value):
    """A place on an axis in its own terms: a date, a category or a number. None stays None."""
    if value is None:
        return None
    scale = _scale(axis)
    if scale == "datetime":
        return sys.modules["matplotlib.dates"].num2date(value).isoformat()
    if scale == "categorical":
        for name, place in getattr(axis.units, "_mapping", {}).items():
            if place == value:
                return str(name)
    return _number(value)


def _scale(axis):
    converter = getattr(axis, "get_converter", lambda: getattr(axis, "converter", None))()
    kind = type(converter).__name__
    if "Date" in kind:
        return "datetime"
    if "Categor" in kind:
        return "categorical"
    return axis.get_scale()


def _name(artist):
    label = str(artist.get_label())
    return "" if label.startswith("_") else label


def _text(artist):
    return (artist.get_text() or None) if artist is not None else None


def _number(value):
    """JSON has neither infinity nor things that are no number."""
    value = float(value)
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
