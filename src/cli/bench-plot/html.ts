const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Markup, in which everything that came from elsewhere is escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | undefined | readonly Part[];

/** Markup with parts between: text is escaped, markup and lists of it are taken as they are, undefined is nothing. */
export function html(markup: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(String.raw({ raw: markup }, ...parts.map(textOf)));
}

function textOf(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return part.map(textOf).join('');
  return String(part).replace(/[&<>"']/g, (char) => ENTITIES[char]!);
}

/** JSON in a script element, which nothing in it can end. */
export function jsonScript(value: unknown): Html {
  const json = JSON.stringify(value).replaceAll('<', '\\u003c');
  return new Html(`<script type="application/json">${json}</script>`);
}
