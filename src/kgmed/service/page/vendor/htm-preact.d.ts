// What the page uses of htm-preact.js, for `tsc --checkJs`; nothing else reads it.

export function html(strings: TemplateStringsArray, ...values: any[]): any;
export function render(what: any, where: Element | null): void;
export function useState(first?: any): [any, (next: any) => void];
export function useEffect(effect: () => unknown, of?: unknown[]): void;
export function useLayoutEffect(effect: () => unknown, of?: unknown[]): void;
export function useMemo<T>(make: () => T, of: unknown[]): T;
export function useRef<T>(first: T): { current: T };
