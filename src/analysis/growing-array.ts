/** A `Uint32Array` that grows: 4 bytes a value, so that figures of millions of requests fit. */
export class GrowingUint32 {
  length = 0;
  private values = new Uint32Array(1024);

  push(value: number): void {
    if (this.length === this.values.length) this.grow(2 * this.length);
    this.values[this.length++] = value;
  }

  pushAll(values: Uint32Array): void {
    const length = this.length + values.length;
    if (length > this.values.length) this.grow(Math.max(length, 2 * this.values.length));
    this.values.set(values, this.length);
    this.length = length;
  }

  /** What was pushed, aliased: good until the next push. */
  view(): Uint32Array {
    return this.values.subarray(0, this.length);
  }

  private grow(capacity: number): void {
    const larger = new Uint32Array(capacity);
    larger.set(this.values);
    this.values = larger;
  }
}
