/** The types of playwright-core name these; they are of the DOM's library, without which this is compiled. */
type Node = object;
type HTMLElement = object;
type SVGElement = object;
type HTMLElementTagNameMap = Record<string, HTMLElement>;
