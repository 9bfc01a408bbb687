/** Names come from anybody: nothing in them shall drive the terminal. */
export function printable(text: string, most = 40): string {
  const shown = text.length > most ? `${text.slice(0, most)}…` : text;
  return shown.replace(/\p{C}/gu, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);
}
