"""Colours and line styles that colour-blind readers can tell apart, as far as their number allows."""

#: One colour per class. The first seven are Okabe and Ito's (without black, the colour of boundaries). Each further one
#: is the moderate colour that is furthest from all before it, by the smallest of its distances in CIE L*a*b* as seen
#: with normal sight, protanopia and deuteranopia.
CLASS_COLOURS = (
    "#0072B2",  # blue
    "#E69F00",  # orange
    "#009E73",  # green
    "#CC79A7",  # pink
    "#56B4E9",  # sky
    "#D55E00",  # vermilion
    "#F0E442",  # yellow
    "#552200",  # brown
    "#223344",  # slate
    "#112288",  # navy
    "#99CC77",  # moss
    "#4488FF",  # azure
    "#CC3344",  # crimson
    "#FFAABB",  # rose
    "#003366",  # midnight
    "#665577",  # plum
    "#2255BB",  # cobalt
    "#774400",  # umber
    "#552222",  # maroon
    "#884455",  # mauve
)

#: The colour of points without a label, which are drawn as rings.
UNLABELLED = "#808080"

#: Colour, dashes and width of boundaries. Later lines are thinner, so that the lines below them remain visible.
LINE_STYLES = (
    ("#000000", "solid", 2.4),
    ("#E41A1C", (0, (5, 2)), 2.0),
    ("#00B8A9", (0, (1.5, 1.2)), 1.8),
    ("#6A3D9A", (0, (6, 2, 1, 2)), 1.6),
    ("#8C510A", (0, (3, 3)), 1.4),
    ("#5A5A5A", (0, (1, 3)), 1.4),
)


def class_colours(n_classes: int) -> tuple[str, ...]:
    """The colours of `n_classes` classes, at most 20."""
    if n_classes > len(CLASS_COLOURS):
        raise ValueError(f"a picture tells at most {len(CLASS_COLOURS)} classes apart by colour, got {n_classes}")
    return CLASS_COLOURS[:n_classes]
