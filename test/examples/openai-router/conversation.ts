import type { Random } from '../../property/random.js';
import { randomText } from './random-json.js';

/** Bodies of one chat as it grows by a message at a time: texts of all kinds, parts, names, tools and their calls. */
export function randomConversation(random: Random, messages: number): object[] {
  const tools = random.oneIn(2) ? [] : [{ type: 'function', function: { name: randomText(random, 5) } }];
  const history = Array.from({ length: messages }, () => randomMessage(random));
  return history.map((_, i) => ({ model: 'm', tools, messages: history.slice(0, i + 1) }));
}

function randomMessage(random: Random): object {
  const content = random.oneIn(3) ? randomParts(random) : randomText(random, 30);
  switch (random.below(5)) {
    case 0:
      return { role: 'system', content };
    case 1:
      return { role: 'tool', content, tool_call_id: randomText(random, 3) };
    case 2:
      return {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', arguments: randomText(random, 9) }],
      };
    case 3:
      return { role: 'assistant', content };
    default:
      return { role: 'user', content, ...(random.oneIn(3) && { name: randomText(random, 3) }) };
  }
}

function randomParts(random: Random): object[] {
  return Array.from({ length: random.below(4) }, () =>
    random.oneIn(2)
      ? { type: 'text', text: randomText(random, 20) }
      : { type: 'image_url', image_url: { url: `https://example.com/${random.below(10)}.png` } },
  );
}
