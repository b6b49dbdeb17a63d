import { globSync } from "node:fs"
import { matchesGlob } from "node:path"

/** Sources to mutate and the tests that must notice. */
export interface Area {
  readonly name: string
  readonly sources: ReadonlyArray<string>
  readonly tests: ReadonlyArray<string>
  /** Slower tests, for the mutants that survive the others. */
  readonly widerTests: ReadonlyArray<string>
}

const conformance = "test/conformance/!(coverage).test.ts"

/**
 * Only tests that run inside one process and within seconds take part, since each mutant runs all tests that reach it.
 * Tests with Redis, child processes or a minute of load are left to `npm test`.
 */
export const areas: ReadonlyArray<Area> = [
  {
    name: "domain",
    sources: ["src/domain/**/*.ts"],
    tests: ["test/domain/**/!(speed).test.ts"],
    widerTests: []
  },
  {
    name: "server",
    sources: ["src/application/server/**/*.ts"],
    tests: ["test/application/server/**/*.test.ts"],
    widerTests: [conformance]
  },
  {
    name: "computer",
    sources: ["src/application/computer/**/*.ts"],
    tests: ["test/application/computer/**/*.test.ts"],
    widerTests: [conformance]
  },
  {
    // What admits clients, guards secrets, shows foreign text to a person, or parses bytes of unauthenticated peers.
    name: "adapters",
    sources: [
      "src/adapters/{audit,auth,bytes,credentials,log}/*.ts",
      "src/adapters/http/{AccessPolicy,checkedFetch,hostAccess}.ts",
      "src/adapters/mcp/oauth/*.ts",
      "src/adapters/redis/registry/{LocalOffices,SyncState,RegistryScripts}.ts",
      "src/adapters/socketio/{closeReasons,gate}.ts",
      "src/adapters/tcp/transport/frames.ts",
      "src/adapters/socketio/connection/{ConnectionBudget,parsePacket}.ts",
      "src/adapters/terminal/{foreignFields,prompts,questionContext,quoteForTerminal}.ts"
    ],
    tests: [
      "test/adapters/{audit,auth,bytes,credentials,log,terminal}/*.test.ts",
      "test/adapters/http/{AccessPolicy,ServerPages,checkedFetch,hostAccess}.test.ts",
      "test/adapters/mcp/oauth/*.test.ts",
      "test/adapters/mcp/publish/http/publishHttp.test.ts",
      "test/adapters/tcp/transport/frames.test.ts",
      "test/adapters/redis/registry/{LocalOffices,SyncState,registryMessages}.test.ts",
      "test/adapters/socketio/gate.test.ts",
      "test/adapters/socketio/connection/parsePacket.test.ts",
      "test/application/devices/gateway/admission.test.ts",
      "test/conformance/gate.test.ts"
    ],
    widerTests: ["test/adapters/transport.test.ts", "test/adapters/socketio/connection/protocol.test.ts"]
  }
]

const isIn = (file: string, path: string): boolean => {
  const prefix = path.replace(/^\.\//, "").replace(/\/+$/, "")
  return file === prefix || file.startsWith(`${prefix}/`) || matchesGlob(file, prefix)
}

/** The files of an area that lie in one of the paths; all files without a path. */
export const filesOf = ({ sources }: Area, paths: ReadonlyArray<string>): ReadonlyArray<string> =>
  sources
    .flatMap((pattern) => globSync(pattern))
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => paths.length === 0 || paths.some((path) => isIn(file, path)))
    .toSorted()
