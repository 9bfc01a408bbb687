import { describe, expect, it } from 'vitest';
import { OpenAiError } from '../../../examples/openai-router/openai/errors.js';
import { type ChatPrompt, readCompletion } from '../../../examples/openai-router/openai/requests.js';
import { Random, seedOfRun } from '../../property/random.js';
import { randomJson } from './random-json.js';

const CHAT = {
  model: 'm',
  messages: [
    { role: 'system', content: 'be brief' },
    {
      role: 'user',
      name: 'ann',
      content: [
        { type: 'text', text: 'what is this?' },
        { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      ],
    },
    { role: 'assistant', content: 'wait', tool_calls: [{ id: 'c1', function: { name: 'look' } }] },
    { role: 'tool', content: 'a cat', tool_call_id: 'c1' },
  ],
  tools: [{ type: 'function', function: { name: 'look' } }],
  stream: true,
  stream_options: { include_usage: true },
  max_tokens: 5,
  max_completion_tokens: 7,
  prompt_cache_key: 'chat-1',
  user: 'ann',
  cache_salt: 'tenant',
  temperature: 0.5,
};
const TEXT = { model: 'm', prompt: 'once upon' };

function chat(fields: object): ChatPrompt {
  return readCompletion('chat', { ...CHAT, ...fields }).prompt as ChatPrompt;
}

function contentOf(content: unknown): string {
  return chat({ messages: [{ role: 'user', content }] }).messages[0]!.content;
}

function failure(read: () => unknown): OpenAiError {
  try {
    read();
  } catch (error) {
    expect(error).toBeInstanceOf(OpenAiError);
    return error as OpenAiError;
  }
  throw new Error('nothing was refused');
}

describe('a chat', () => {
  it('is read with all that matters to a router', () => {
    expect(readCompletion('chat', CHAT)).toEqual({
      kind: 'chat',
      model: 'm',
      stream: true,
      includeUsage: true,
      maxTokens: 7,
      session: 'chat-1',
      cacheSalt: 'tenant',
      prompt: {
        messages: [
          { role: 'system', content: 'be brief' },
          {
            role: 'user',
            name: 'ann',
            content: expect.stringMatching(/^what is this\?\n<\|image_url:[0-9a-f]{64}\|>$/),
          },
          { role: 'assistant', content: 'wait', toolCalls: JSON.stringify(CHAT.messages[2]!.tool_calls) },
          { role: 'tool', content: 'a cat', toolCallId: 'c1' },
        ],
        tools: [JSON.stringify(CHAT.tools[0])],
      },
    });
  });

  it('may leave out what is optional, or set it to null', () => {
    const messages = [{ role: 'user', content: 'hi' }];
    const short = readCompletion('chat', { model: 'm', messages });
    expect(short).toMatchObject({
      stream: false,
      includeUsage: false,
      maxTokens: undefined,
      session: undefined,
    });
    const nulls = Object.fromEntries(Object.keys(CHAT).map((field) => [field, null]));
    expect(readCompletion('chat', { ...nulls, model: 'm', messages })).toEqual(short);
  });

  it('needs no content', () => {
    for (const role of ['assistant', 'user', 'tool'])
      for (const content of [undefined, null])
        expect(chat({ messages: [{ role, content, tool_calls: [{ id: 'c1' }] }] }).messages[0]).toEqual({
          role,
          content: '',
          toolCalls: '[{"id":"c1"}]',
        });
  });

  it.each([
    ['no answer, only a prefill', { max_tokens: 0 }],
    ['an object of tools', { tools: { look: {} } }],
    ['tools by name', { tools: ['look', 5, null] }],
    ['long names', { messages: [{ role: 'r'.repeat(600), content: 'a', name: 'n'.repeat(600) }] }],
    ['a long id', { messages: [{ role: 'tool', content: 'a', tool_call_id: 'c'.repeat(600) }] }],
    ['tool calls of another form', { messages: [{ role: 'assistant', tool_calls: { look: [1] } }] }],
    ['a text among parts', { messages: [{ role: 'user', content: ['a'] }] }],
    ['a part by its id', { messages: [{ role: 'user', content: [{ type: 'image_url', uuid: 'a' }] }] }],
    ['a part of another form', { messages: [{ role: 'user', content: [{ type: 'file', name: 'a' }] }] }],
  ])('may have what some engines take: %s', (_, fields) => {
    expect(chat(fields).messages.length).toBeGreaterThan(0);
  });

  it('tells apart what has another form, too', () => {
    const tools = [{ look: {} }, ['look'], ['look', 5]].map((value) => chat({ tools: value }).tools!.join());
    const part = (fields: object) => contentOf([{ type: 'image_url', ...fields }]);
    const parts = [{ uuid: 'a' }, { uuid: 'b' }, { url: 'a' }, { image_url: { url: 'a' } }].map(part);
    expect([new Set(tools).size, new Set(parts).size]).toEqual([3, 4]);
  });

  it('knows a part by its id, whether what it carries is sent again or not', () => {
    const part = (image_url: unknown) => contentOf([{ type: 'image_url', image_url, uuid: 'cat' }]);
    expect(part(null)).toBe(part({ url: 'data:image/png;base64,AAAA' }));
    expect(part({ url: null })).toBe(part(undefined));
  });

  it('reads the same whether a client sends empty lists and nulls, or nothing', () => {
    const bare = { role: 'assistant', content: 'hi' };
    const full = { ...bare, tool_calls: [], name: null, tool_call_id: null, refusal: null };
    expect(chat({ messages: [full] })).toEqual(chat({ messages: [bare] }));
  });

  it('tells other parts apart by what they carry, not by what lies beside', () => {
    const image = (url: string) => ({ type: 'image_url', image_url: { url } });
    expect(contentOf([image('a')])).toBe(
      contentOf([{ ...image('a'), cache_control: { type: 'ephemeral' } }]),
    );
    expect(contentOf([image('a')])).not.toBe(contentOf([image('b')]));
    const audio = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
    expect(contentOf([audio])).toMatch(/^<\|input_audio:/);
  });

  it('takes its session from prompt_cache_key, else user, and an empty name as none', () => {
    const session = (fields: object) => readCompletion('text', { ...TEXT, ...fields }).session;
    expect(session({ prompt_cache_key: 'key', user: 'ann' })).toBe('key');
    expect(session({ prompt_cache_key: '', user: 'ann' })).toBe('ann');
    expect(session({ user: '' })).toBeUndefined();
  });
});

describe('a text completion', () => {
  it.each([
    ['once upon', 'once upon'],
    [['once upon'], 'once upon'],
    [
      [1, 2, 2 ** 32 - 1],
      [1, 2, 2 ** 32 - 1],
    ],
    [[[1, 2]], [1, 2]],
  ])('takes %j', (prompt, read) => {
    expect(readCompletion('text', { model: 'm', prompt }).prompt).toEqual(read);
  });

  it.each([
    [undefined, 'prompt'],
    [null, 'prompt'],
    [7, 'prompt'],
    ['', 'prompt'],
    [[], 'prompt'],
    [[''], 'prompt'],
    [[[]], 'prompt'],
    [[null], 'prompt'],
    [[{}], 'prompt'],
    [['a', 'b'], 'prompt'],
    [[[1], [2]], 'prompt'],
    [[1, -1], 'prompt[1]'],
    [[1, 2 ** 32], 'prompt[1]'],
    [[1, 2, 0.5], 'prompt[2]'],
    [[1, 'a'], 'prompt[1]'],
    [[['a']], 'prompt[0]'],
  ])('refuses %j', (prompt, param) => {
    expect(failure(() => readCompletion('text', { model: 'm', prompt }))).toMatchObject({
      status: 400,
      param,
    });
  });
});

const MESSAGE = 'messages[0]';
it.each([
  [{ model: undefined }, 'model'],
  [{ model: '' }, 'model'],
  [{ model: 'm'.repeat(513) }, 'model'],
  [{ stream: 'yes' }, 'stream'],
  [{ stream_options: [] }, 'stream_options'],
  [{ stream_options: { include_usage: 1 } }, 'stream_options.include_usage'],
  [{ max_tokens: -1 }, 'max_tokens'],
  [{ max_tokens: 1.5 }, 'max_tokens'],
  [{ max_completion_tokens: '5' }, 'max_completion_tokens'],
  [{ prompt_cache_key: 5 }, 'prompt_cache_key'],
  [{ user: 'u'.repeat(513) }, 'user'],
  [{ cache_salt: '' }, 'cache_salt'],
  [{ messages: undefined }, 'messages'],
  [{ messages: [] }, 'messages'],
  [{ messages: ['hi'] }, MESSAGE],
  [{ messages: [{ content: 'hi' }] }, `${MESSAGE}.role`],
  [{ messages: [{ role: 'user', content: 5 }] }, `${MESSAGE}.content`],
  [{ messages: [{ role: 'user', content: 'a', name: {} }] }, `${MESSAGE}.name`],
  [{ messages: [{ role: 'user', content: [5] }] }, `${MESSAGE}.content[0]`],
  [{ messages: [{ role: 'user', content: [{ text: 'a' }] }] }, `${MESSAGE}.content[0].type`],
  [{ messages: [{ role: 'user', content: [{ type: 'text' }] }] }, `${MESSAGE}.content[0].text`],
  [{ messages: [{ role: 'tool', content: 'a', tool_call_id: 1 }] }, `${MESSAGE}.tool_call_id`],
])('%j is refused, and the field named', (fields, param) => {
  const error = failure(() => readCompletion('chat', { ...CHAT, ...fields }));
  expect(error).toMatchObject({ status: 400, param });
  expect(error.message).toContain(`'${param}'`);
});

it.each([undefined, null, 'text', 5, true, [], [CHAT]])('a body that is %j is refused', (body) => {
  for (const kind of ['chat', 'text'] as const)
    expect(failure(() => readCompletion(kind, body))).toMatchObject({ status: 400, param: null });
});

it('what is nested too deeply to be written again is refused', () => {
  const deep = JSON.parse(`${'[{"a":'.repeat(200_000)}1${'}]'.repeat(200_000)}`);
  const error = failure(() => readCompletion('chat', { ...CHAT, tools: deep }));
  expect(error).toMatchObject({ status: 400, param: 'tools[0]' });
});

it('whatever stands in a field, it is taken, or that field is refused', () => {
  const random = new Random(seedOfRun('malformed fields'));
  const fields = [
    ...pathsOf(CHAT),
    ...['messages[0].tool_calls', 'messages[0].tool_call_id', 'messages[0].name'],
  ];
  for (let round = 0; round < 20_000; round++) {
    const path = random.oneOf(fields);
    const body = structuredClone(CHAT);
    set(body, path, randomJson(random));
    try {
      readCompletion('chat', body);
    } catch (error) {
      expect(error).toBeInstanceOf(OpenAiError);
      const { param } = error as OpenAiError;
      // A part is read by its type: another type asks for another field beside it.
      const around = path.replace(/\.type$/, '');
      expect(param?.startsWith(around), `${param} for ${path}`).toBe(true);
    }
  }
});

it('random bodies and prompts are taken or refused', () => {
  const random = new Random(seedOfRun('random bodies'));
  for (let round = 0; round < 20_000; round++) {
    const kind = random.oneOf(['chat', 'text'] as const);
    const body = random.oneOf<unknown>([
      randomJson(random),
      { model: 'm', messages: randomJson(random) },
      { model: 'm', prompt: randomJson(random) },
    ]);
    try {
      readCompletion(kind, body);
    } catch (error) {
      expect(error).toBeInstanceOf(OpenAiError);
    }
  }
});

/** Every field of a value and what lies in it, as `param` words them. */
function pathsOf(value: unknown, above = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const path = Array.isArray(value) ? `${above}[${key}]` : above === '' ? key : `${above}.${key}`;
    return [path, ...pathsOf(inner, path)];
  });
}

function set(body: object, path: string, value: unknown): void {
  const keys = path.split(/[.[\]]+/).filter((key) => key !== '');
  const last = keys.pop()!;
  const holder = keys.reduce<Record<string, unknown>>(
    (inner, key) => inner[key] as Record<string, unknown>,
    body as Record<string, unknown>,
  );
  holder[last] = value;
}
