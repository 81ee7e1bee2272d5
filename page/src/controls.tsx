/** Controls that several views share. */

import { useSignal } from "@preact/signals";
import type { ReadonlySignal, Signal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** A box to tick, with what it means. */
export function Check({ of, allowed, children }: { of: Signal<boolean>; allowed?: { disabled: boolean; title?: string }; children: ComponentChildren }) {
  return <label class="check"><input type="checkbox" checked={of.value} {...allowed} onChange={(event) => (of.value = event.currentTarget.checked)} /> {children}</label>;
}

/** How wide an element is; looked for again when `shown` changes. */
export function useWidth(shown = true): [RefObject<HTMLDivElement | null>, ReadonlySignal<number>] {
  const bar = useRef<HTMLDivElement>(null);
  const width = useSignal(0);
  useEffect(() => {
    const observer = new ResizeObserver(() => (width.value = bar.current?.clientWidth ?? 0));
    if (bar.current) observer.observe(bar.current);
    return () => observer.disconnect();
  }, [shown]);
  return [bar, width];
}
