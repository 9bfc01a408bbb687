// Copies the pages of the examples to where tsc writes the code that serves them.
import { copyFileSync } from 'node:fs';

for (const page of ['examples/openai-router/router/page.html']) {
  copyFileSync(new URL(`../${page}`, import.meta.url), new URL(`../dist/${page}`, import.meta.url));
}
