import type { ChatRow } from './types.js';

/** A row of a hybrid trace as a line of hybrid JSONL, without its newline: what `TraceReader` reads back as the same row. */
export function hybridLine(row: ChatRow): string {
  const members = [
    `"chat_id":${chat(row.chatId)}`,
    `"parent_chat_id":${chat(row.parentChatId ?? '-1')}`,
    ...optional('session_id', row.sessionId),
    ...optional('timestamp', row.timestampMs === undefined ? undefined : row.timestampMs / 1000),
    `"input_length":${row.inputLength}`,
    ...optional('output_length', row.outputLength),
    ...optional('type', row.type),
    ...optional('turn', row.turn),
    ...optional('time_to_parent_chat', row.timeToParentChatMs),
    `"hash_ids":[${row.hashIds.join(',')}]`,
  ];
  return `{${members.join(',')}}`;
}

/** Integers of any size as they are: JSON.stringify would have to go through a double. */
function chat(id: string): string {
  return /^-?(0|[1-9]\d*)$/.test(id) ? id : JSON.stringify(id);
}

function optional(name: string, value: string | number | undefined): string[] {
  return value === undefined ? [] : [`"${name}":${JSON.stringify(value)}`];
}
