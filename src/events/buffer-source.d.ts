/** The types of @msgpack/msgpack name it; it is of the DOM's library, without which this is compiled. */
type BufferSource = ArrayBufferView | ArrayBuffer;
