/** Where the names of markers fit beside each other. */

import type { Marker } from "./messages";

const CHARACTER_PX = 6.2;
const MOST_PX = 110;
const MARGIN_PX = 10;

/** The markers whose names do not run into each other, nor over the end of a bar of so many px, and to the second; the first ones come first. */
export function namesThatFit(markers: Marker[], pxToSecond: number, widthPx = Infinity): Set<Marker> {
  const fit = new Set<Marker>();
  let free = -Infinity;
  for (const marker of [...markers].sort((one, other) => one.time - other.time)) {
    const begins = marker.time * pxToSecond;
    const ends = begins + Math.min(MOST_PX, CHARACTER_PX * marker.name.length);
    if (begins < free || ends > widthPx) continue;
    fit.add(marker);
    free = ends + MARGIN_PX;
  }
  return fit;
}
