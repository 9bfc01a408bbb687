export { EventRecorder, type EventRecorderOptions } from './event-recorder.js';
export { type ReadRecordingOptions, readRecording } from './read-recording.js';
export { type RecordedStreamState, RecordedStreams } from './recorded-streams.js';
export type { RecordedMessage } from './types.js';
