import { fileURLToPath } from 'node:url';
import { freePort } from '../../two-routers/redis.js';
import { type Listening, Program } from './program.js';

export interface FleetOptions {
  readonly workers?: number | undefined;
  /** Of the router. 0: any that is free. */
  readonly port?: number | undefined;
  /** Of the first worker; the others have the next ones. 0: any that are free. */
  readonly workerPort?: number | undefined;
  readonly routerArgs?: readonly string[] | undefined;
  readonly workerArgs?: readonly string[] | undefined;
  /** The router follows the workers' KV events. */
  readonly events?: boolean | undefined;
  /** `redis://…`: the router follows sketches, which a sidecar of each worker makes of its KV events. */
  readonly sketch?: string | undefined;
  /** Of what the programs print. */
  readonly onLine?: ((name: string, line: string) => void) | undefined;
  /** A program that had started has ended, and `stop` was not called. */
  readonly onEnd?: ((name: string, how: string) => void) | undefined;
}

export interface FleetWorker {
  readonly name: string;
  readonly url: string;
  readonly isRunning: boolean;
}

interface Member {
  readonly file: string;
  readonly args: readonly string[];
  readonly program: Program;
}

const ROUTER = 'router';

/** A router and its workers, in processes of their own: they end with this one, however it ends. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #members = new Map<string, Member>();
  #workers: readonly FleetWorker[] = [];
  #routerUrl = '';
  #isStopped = false;

  private constructor(options: FleetOptions) {
    this.#options = options;
  }

  /** Answers when all of them listen. If one does not start, all are stopped, and the error tells what it printed. */
  static async start(options: FleetOptions = {}): Promise<Fleet> {
    const fleet = new Fleet(options);
    try {
      await fleet.#start();
    } catch (error) {
      await fleet.stop();
      throw error;
    }
    return fleet;
  }

  get routerUrl(): string {
    return this.#routerUrl;
  }

  get workers(): readonly FleetWorker[] {
    return this.#workers;
  }

  /** Of the process of `router`, or of a worker. */
  pid(name: string): number {
    return this.#member(name).program.pid!;
  }

  /** Ends a program at once, as a crash would. */
  async kill(name: string): Promise<void> {
    await this.#member(name).program.kill();
  }

  /** Starts a program that has ended again, at the same ports. */
  async revive(name: string): Promise<void> {
    const { file, args, program } = this.#member(name);
    if (program.isRunning) throw new Error(`${name} is running: it cannot be started again`);
    await program.ended; // its ports are free
    await this.#launch(name, file, args);
  }

  /** Stops the router first, so that it does not take its workers for dead. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const programs = [...this.#members.values()].map(({ program }) => program);
    await programs.find(({ name }) => name === ROUTER)?.stop();
    await Promise.all(programs.map((program) => program.stop()));
  }

  async #start(): Promise<void> {
    const { workers = 3, port = 0, workerPort = 0, routerArgs = [], events, sketch } = this.#options;
    const names = Array.from({ length: workers }, (_, i) => `w${i}`);
    const publishes = events || sketch !== undefined;
    const free = await freePorts(1 + workers * (publishes ? 3 : 1));
    const told = await Promise.all(
      names.map((name, i) => {
        const ports = ['--port', `${workerPort === 0 ? free.pop() : workerPort + i}`];
        if (publishes) ports.push('--events-port', `${free.pop()}`, '--replay-port', `${free.pop()}`);
        return this.#startWorker(name, ports);
      }),
    );
    this.#workers = names.map((name, i) => this.#worker(name, told[i]!.url));
    const args = ['--drain-ms', '0', ...routerArgs, '--port', `${port === 0 ? free.pop() : port}`];
    for (const [i, { url, events: published, replay }] of told.entries()) {
      const follow = events ? `,events=${published},replay=${replay}` : '';
      args.push('--worker', `${url},name=${names[i]}${follow}`);
    }
    if (sketch !== undefined) args.push('--sketch', sketch);
    const { url } = await this.#launch(ROUTER, 'router/main.js', args);
    this.#routerUrl = url;
  }

  async #startWorker(name: string, ports: readonly string[]): Promise<Listening> {
    const { workerArgs = [], sketch } = this.#options;
    const told = await this.#launch(name, 'worker/main.js', [...workerArgs, '--name', name, ...ports]);
    if (sketch !== undefined) {
      const follow = ['--events', told.events!, '--replay', told.replay!];
      await this.#launch(`${name}-sidecar`, 'sidecar.js', ['--worker', name, ...follow, '--sketch', sketch]);
    }
    return told;
  }

  /** Answers when it listens. */
  async #launch(name: string, file: string, args: readonly string[]): Promise<Listening> {
    if (this.#isStopped) throw new Error(`${name} cannot be started: its fleet was stopped`);
    const { onLine, onEnd } = this.#options;
    const program = new Program({
      name,
      file: fileURLToPath(new URL(file, PROGRAMS)),
      args,
      onLine: onLine && ((line) => onLine(name, line)),
    });
    this.#members.set(name, { file, args, program });
    const told = await program.listening;
    program.ended.then((how) => {
      if (!this.#isStopped) onEnd?.(name, how);
    });
    return told;
  }

  #worker(name: string, url: string): FleetWorker {
    const isRunning = () => this.#member(name).program.isRunning;
    return {
      name,
      url,
      get isRunning() {
        return isRunning();
      },
    };
  }

  #member(name: string): Member {
    const member = this.#members.get(name);
    if (member === undefined)
      throw new Error(`no program is named ${name}: there are ${[...this.#members.keys()].join(', ')}`);
    return member;
  }
}

/** Where the compiled programs lie, also for tests that run this file from its source. */
const PROGRAMS = import.meta.url.endsWith('.ts')
  ? new URL('../../../dist/examples/openai-router/', import.meta.url)
  : new URL('../', import.meta.url);

/** Not those that a system gives to who asks for any: a program that died comes back to its port, and finds it free. */
async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}
