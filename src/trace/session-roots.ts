/**
 * Finds the session of a chat: the name that the trace gives it, else the chat id at the root of its parent chain.
 * A parent that no earlier row shows (the trace was cut out of a longer one) counts as a root, so its children are one
 * session, and so is it when it comes after them. Memory: a map entry a chat.
 */
export class SessionRoots {
  private readonly sessions = new Map<string, string>();

  sessionOf(chatId: string, parentChatId: string | undefined, named: string | undefined): string {
    const session = named ?? this.inherited(parentChatId) ?? chatId;
    this.sessions.set(chatId, session);
    return session;
  }

  private inherited(parentChatId: string | undefined): string | undefined {
    return parentChatId === undefined ? undefined : (this.sessions.get(parentChatId) ?? parentChatId);
  }
}
