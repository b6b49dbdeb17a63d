import { availableParallelism } from "node:os"
import { join } from "node:path"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { SkippedTests } from "./test/programs/SkippedTests.ts"

// Child processes of tests compile the same modules again and again; the cache halves the CPU time of their starts.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/node-compile-cache")

/** What runs for long, or measures latency or a Server's memory: `npm run attacks`, one file at a time. */
const long = [
  "test/attacks/**/*.test.ts",
  "test/chaos/chaos.test.ts",
  "test/main/residentMemory.test.ts",
  "test/page/load.test.ts"
]

/**
 * What kills programs, Servers and Redis in every order, or drives whole programs by a browser: `npm run live`. Also the
 * planted faults of the simulation, and every view of the page in both themes and all widths.
 */
const live = [
  "test/adapters/process/spawnGuarded.test.ts",
  "test/adapters/registry/outage.test.ts",
  "test/examples.test.ts",
  "test/main/cluster.test.ts",
  "test/main/clusterFaults.test.ts",
  "test/main/hangup.test.ts",
  "test/main/workers.test.ts",
  "test/page/accessibility.test.ts",
  "test/page/live/**/*.test.ts",
  "test/simulation/faults.test.ts"
]

/** Conformance over polling and the stock Socket.IO server: `npm run transports`. */
const transports = [
  "test/application/agent/{officeShare,skills,transfer}.test.ts",
  "test/application/server/Limits.test.ts",
  "test/conformance/!(coverage|gate).test.ts"
]

/** The `a2c` command as real processes: `npm run commands`. */
const commands = ["test/main/*.test.ts", "test/main/cli/{a2c,unknownHome,output/screens}.test.ts"]

/** What needs a real Redis: `npm run redis`. */
const redis = [
  "test/adapters/nodeLink.test.ts",
  "test/adapters/redis/nodelink/RedisNodeLink.test.ts",
  "test/adapters/redis/registry/luaScripts.test.ts",
  "test/adapters/registry/*.test.ts"
]

/** The office page in Chromium, with scripted Servers, and the package in other pages: `npm run page`. */
const page = ["test/page/*.test.ts", "test/browser/**/*.test.ts"]

/** The documentation as a site: `npm run site:check`. */
const site = ["test/site/site.test.ts"]

/** Examples with SDKs of language models: `npm run sdks`. */
const sdks = ["examples/sdks/*.test.ts"]

/** MCP's conformance suite judges both sides of an office: `npm run mcp-conformance`. */
const mcpConformance = ["test/mcpConformance/*.test.ts"]

/** The MCP inspector, an MCP app, the AI SDK and MicroPython: `npm run peers`. */
const peers = ["test/peers/*.test.ts"]

/** The files that take longest. */
const slow =
  /test\/(?:simulation|main|examples|fuzz|conformance|adapters\/(?:registry|mcp\/contract|packs\/loading|socketio))/

/** Starts the slow files first: the last ones would leave the other processors idle. */
class SlowFilesFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const sorted = await super.sort(files)
    const [first, then] = [true, false].map((isSlow) => sorted.filter(({ moduleId }) => slow.test(moduleId) === isSlow))
    return [...(first ?? []), ...(then ?? [])]
  }
}

/**
 * What starts other programs, waits for real timeouts, has official clients as judges, or measures the memory, the errors,
 * timers and sockets of its whole process: `npm run processes`.
 */
const processes = [
  "test/adapters/{ajv/{AjvValidator,scarcity},schemaValidators}.test.ts",
  "test/adapters/byteLink.test.ts",
  "test/adapters/http/unreadResponses.test.ts",
  "test/adapters/mcp/client/http/olderTransport.test.ts",
  "test/adapters/mcp/client/stdio/{LineCodec,stdio}.test.ts",
  "test/adapters/mcp/contract.test.ts",
  "test/adapters/mcp/publish/oddSessions.test.ts",
  "test/adapters/packs/install/{NpmInstaller,PythonInstaller}.test.ts",
  "test/adapters/packs/NodePackLoader.test.ts",
  "test/adapters/packs/python/{badPacks,contract,differential,document,office,reloads,uv}.test.ts",
  "test/adapters/packs/uploads.test.ts",
  "test/adapters/process/{CommandInput,gcTuning}.test.ts",
  "test/adapters/proxies.test.ts",
  "test/adapters/socketio/client/*.test.ts",
  "test/adapters/socketio/connection/{backlog,protocol}.test.ts",
  "test/adapters/tcp/**/tcp*.test.ts",
  "test/adapters/vrl/VerelEngine.test.ts",
  "test/domain/devices/{fuzz,speed}.test.ts",
  "test/fuzz/**/*.test.ts",
  "test/main/cli/{failures,secretFlags,terminalOutput,toolsFlags}.test.ts",
  "test/main/cli/output/commands.test.ts",
  "test/main/cli/arguments/argumentSource.test.ts",
  "test/main/cli/server/{limitFlags,officePage}.test.ts",
  "test/main/entrypoints/nodeVersion.test.ts",
  "test/promise.test.ts",
  "test/readme.test.ts",
  "test/release/archiveLinks.test.ts",
  "test/simulation/simulation.test.ts"
]

/** More than processors, since most tests of processes wait. */
const maxWorkers = Math.max(4, availableParallelism())

export default defineConfig({
  test: {
    silent: "passed-only",
    // Tests draw on terminals that move the cursor, wherever they run.
    env: { TERM: "xterm-256color" },
    globalSetup: ["test/programs/installPrograms.ts", "test/programs/bundleCommand.ts"],
    reporters: ["default", new SkippedTests()],
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: [
            "**/node_modules/**",
            ...long,
            ...live,
            ...commands,
            ...redis,
            ...page,
            ...processes,
            ...site,
            ...mcpConformance,
            ...peers
          ],
          isolate: false,
          maxWorkers,
          env: { A2C_TRANSPORTS: "memory,socket.io" },
          sequence: { groupOrder: 0 }
        }
      },
      {
        extends: true,
        test: {
          name: "transports",
          include: transports,
          isolate: false,
          maxWorkers,
          env: { A2C_TRANSPORTS: "polling,stock" }
        }
      },
      { extends: true, test: { name: "processes", include: processes, maxWorkers } },
      { extends: true, test: { name: "live", include: live, maxWorkers, sequence: { groupOrder: 1 } } },
      ...Object.entries({ commands, redis, page }).map(([name, include]) => ({
        extends: true as const,
        test: { name, include, exclude: [...long, ...live], isolate: false, maxWorkers }
      })),
      { extends: true, test: { name: "site", include: site } },
      { extends: true, test: { name: "sdks", include: sdks, maxWorkers } },
      { extends: true, test: { name: "mcp-conformance", include: mcpConformance, maxWorkers } },
      { extends: true, test: { name: "peers", include: peers, maxWorkers } },
      { extends: true, test: { name: "long", include: long, maxWorkers: 1, sequence: { groupOrder: 2 } } }
    ],
    pool: "threads",
    sequence: { sequencer: SlowFilesFirst },
    // Only for what hangs: the tests share the machine with each other.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // Packs are imported by Node itself.
    server: { deps: { external: [/src\/adapters\/packs\/loading\/importModule\.ts$/] } }
  }
})
