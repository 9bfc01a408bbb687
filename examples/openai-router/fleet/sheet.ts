import type { Fleet } from './processes.js';

const JSON_BODY = `-H 'content-type: application/json' -d`;

/** What runs where, and what to do with it: each line that begins with `curl` works as it is. */
export function sheet({ routerUrl, workers }: Pick<Fleet, 'routerUrl' | 'workers'>, model: string): string {
  const post = (url: string, body: object) => `  curl ${url} ${JSON_BODY} '${JSON.stringify(body)}'`;
  const chat = { model, messages: [{ role: 'user', content: 'What does a KV cache hold?' }] };
  const first = workers[0]!;
  return `
router   ${routerUrl}
page     ${routerUrl}/   what goes where, live
workers  ${workers.map(({ name, url }) => `${name} ${url}`).join('\n         ')}

A chat, streamed, and which worker the router would choose for it, and why:

${post(`${routerUrl}/v1/chat/completions`, chat)}
${post(`-N ${routerUrl}/v1/chat/completions`, { ...chat, stream: true })}
${post(`${routerUrl}/debug/route`, chat)}

Make a worker slow, and look at the page. Other modes are full, error, stall, break, hang and die; ok ends them.

${post(`${first.url}/fake/mode`, { mode: 'slow' })}

Ctrl-C stops all of it.
`;
}
