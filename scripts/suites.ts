/**
 * Runs suites one after the other until one fails, and prints the minutes of each: `npm run suite -- NAME...`, or `--ci`,
 * `--nightly`, `--release`. Without arguments, prints the table of all suites.
 */
import { spawnSync } from "node:child_process"

/** A named part of the tests that `npm test` leaves out. */
export interface Suite {
  readonly name: string
  readonly command: string
  readonly proves: string
  /** On two processors, without the installation of its packages. */
  readonly minutes: number
  /** The changes after which it runs. */
  readonly after: string
  /** `ci` for each change, `nightly`, or `release`, which needs Go and other programs. */
  readonly runs: "ci" | "nightly" | "release"
}

/** All suites, in the order in which they run. */
export const suites: ReadonlyArray<Suite> = [
  {
    name: "package",
    command: "npm run package",
    proves: "the packed packages work in empty projects, by their documentation; the command needs no other package",
    minutes: 3,
    after: "exports, dependencies, build, documented programs",
    runs: "ci"
  },
  {
    name: "transports",
    command: "npm run transports",
    proves: "each conformance case also holds over polling and with the stock Socket.IO server",
    minutes: 1,
    after: "transport, wire, conformance cases",
    runs: "ci"
  },
  {
    name: "processes",
    command: "npm run processes",
    proves:
      "MCP servers, packs, documented programs and commands as real processes; real timeouts; official clients; memory of a process",
    minutes: 3,
    after: "MCP client, packs, process, transport, commands, docs",
    runs: "ci"
  },
  {
    name: "commands",
    command: "npm run commands",
    proves: "the command works as real processes: Servers, Computers, Agents, devices, packs, published offices",
    minutes: 2,
    after: "src/main, process, MCP client",
    runs: "ci"
  },
  {
    name: "redis",
    command: "npm run redis",
    proves: "nodes that share a real Redis agree on memberships, also when it fails",
    minutes: 1,
    after: "src/adapters/redis, cluster, registry",
    runs: "ci"
  },
  {
    name: "page",
    command: "npm run page",
    proves:
      "the office page shows what a scripted Server sends; pages offer functions by the conformance cases, in Chromium",
    minutes: 1,
    after: "src/main/page, src/domain/page, src/adapters/page, src/adapters/functions",
    runs: "ci"
  },
  {
    name: "mcp-conformance",
    command: "npm run mcp-conformance",
    proves: "MCP's conformance suite finds what is known of a published office and of the MCP client of a Computer",
    minutes: 3,
    after: "MCP client, OAuth, published offices",
    runs: "ci"
  },
  {
    name: "live",
    command: "npm run live",
    proves:
      "killed programs, Servers and Redis, examples, the office page in Chromium, planted faults of the simulation",
    minutes: 3,
    after: "commands, shutdown, cluster, page, examples, simulation",
    runs: "ci"
  },
  {
    name: "simulation",
    command: "npm run simulate -- --seeds 150",
    proves: "150 seeds of a whole office keep every rule",
    minutes: 1,
    after: "Server, Computer, Agent, approvals, tasks",
    runs: "ci"
  },
  {
    name: "seeds",
    command: "npm run simulate -- --from 150 --seeds 1000",
    proves: "1,000 more seeds keep every rule",
    minutes: 9,
    after: "as `simulation`, before a release",
    runs: "nightly"
  },
  {
    name: "interop",
    command: "npm run interop -- --only python-0.2.2 --only python-0.3.3 --only python-0.4.2 || [ $? -eq 3 ]",
    proves: "published Python packages of each protocol line work with this project; needs Python",
    minutes: 12,
    after: "wire, protocol lines",
    runs: "nightly"
  },
  {
    name: "attacks",
    command: "npm run attacks",
    proves: "witnesses lose nothing while a Server is attacked, or Redis and members fail",
    minutes: 4,
    after: "limits, transport, memory",
    runs: "nightly"
  },
  {
    name: "fuzz",
    command: "npm run fuzz -- --inputs 45000",
    proves: "no invalid input of any interface throws, hangs or delays others",
    minutes: 1,
    after: "parsers, codecs, repairs",
    runs: "nightly"
  },
  {
    name: "chaos",
    command: "npm run chaos -- --seeds 1",
    proves: "no call is lost, doubled or wrong while processes, Redis and networks fail",
    minutes: 3,
    after: "reconnects, cluster, routing",
    runs: "nightly"
  },
  {
    name: "memory",
    command: "npm run long-run -- --minutes 5 --bound 10000",
    proves: "the memory of a Server stays flat under mixed load",
    minutes: 6,
    after: "connections, caches, queues",
    runs: "nightly"
  },
  {
    name: "peers",
    command: "npm run peers",
    proves: "the MCP inspector, an MCP app, the AI SDK and a board work with it",
    minutes: 2,
    after: "published offices, devices",
    runs: "nightly"
  },
  {
    name: "sdks",
    command: "npm run sdks",
    proves: "each SDK of a language model calls the tools of an office",
    minutes: 1,
    after: "src/adapters/llm, their examples",
    runs: "nightly"
  },
  {
    name: "runtimes",
    command: "npm run runtimes",
    proves: "the package works in Node 22 and 26, Deno, Bun, Chromium and workerd",
    minutes: 3,
    after: "entry points, process, transport",
    runs: "nightly"
  },
  {
    name: "site",
    command: "npm run site:check",
    proves: "the documentation builds as a site, with its links, search and accessibility",
    minutes: 2,
    after: "docs, site",
    runs: "nightly"
  },
  {
    name: "tutorial",
    command: "npm run tutorial -- 22 24 26",
    proves: "the commands of README and tutorial print what the pages say; needs util-linux",
    minutes: 5,
    after: "commands, README, tutorial",
    runs: "release"
  },
  {
    name: "deployment",
    command: "npm run deploy:check",
    proves: "the files of deploy are valid, and their services run; needs Go",
    minutes: 2,
    after: "deploy, metrics",
    runs: "release"
  },
  {
    name: "release",
    command: "npm run build && npm run release:check",
    proves: "what a release publishes is valid; needs Go",
    minutes: 2,
    after: "package, workflows, extension",
    runs: "release"
  }
]

/** The row of a suite in a table. */
export const formatRow = ({ after, minutes, name, proves, runs }: Suite): string =>
  `| \`${name}\` | ${proves} | ${after} | ${minutes} | ${runs} |`

const chosenBy = (args: ReadonlyArray<string>): ReadonlyArray<Suite> =>
  args.flatMap((arg) => {
    const found = suites.filter(({ name, runs }) => arg === name || arg === `--${runs}`)
    if (found.length > 0) return found
    process.stderr.write(`there is no suite ${arg}; npm run suite lists them\n`)
    process.exit(2)
  })

const minutesSince = (start: number): string => ((performance.now() - start) / 60_000).toFixed(1)

const runAll = (chosen: ReadonlyArray<Suite>): boolean =>
  chosen.every(({ command, name }) => {
    const start = performance.now()
    process.stdout.write(`\nsuite ${name}: ${command}\n`)
    const { status } = spawnSync(command, { shell: true, stdio: "inherit" })
    process.stdout.write(`suite ${name}: ${status === 0 ? "passed" : "failed"} in ${minutesSince(start)} minutes\n`)
    return status === 0
  })

if (import.meta.main) {
  const args = process.argv.slice(2)
  if (args.length === 0) process.stdout.write(`${suites.map(formatRow).join("\n")}\n`)
  else if (!runAll(chosenBy(args))) process.exitCode = 1
}
