"""A motion as a picture of the size of a thumb: the curves of the joints that move furthest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

WIDTH, HEIGHT, MARGIN = 96, 32, 2
COLOURS = ("#3987e5", "#d95926", "#199e70", "#c98500")
"""Seen on a light and on a dark ground; no more joints than these are drawn."""


def thumbnail(positions: Floats) -> str:
    """Return an SVG drawing of positions, of shape (rows, joints), in rad or m.

    The joint that moves furthest fills the height, and the others have its scale.
    """
    travel = np.ptp(positions, axis=0) if positions.size else np.zeros(0)
    furthest = np.argsort(-travel, kind="stable")[: len(COLOURS)]
    scale = (HEIGHT - 2 * MARGIN) / max(travel.max(initial=0.0), 1e-9)
    across = np.linspace(MARGIN, WIDTH - MARGIN, len(positions))
    lines = []
    for joint, colour in reversed([*zip(furthest, COLOURS, strict=False)]):
        centred = positions[:, joint] - (positions[:, joint].max() + positions[:, joint].min()) / 2
        points = " ".join(
            f"{x:.1f},{HEIGHT / 2 - scale * y:.1f}" for x, y in zip(across, centred, strict=True)
        )
        lines.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">'
    return "".join([head, *lines, "</svg>"])
