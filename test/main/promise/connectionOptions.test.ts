import { readFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { vi } from "vitest"
import type { ConnectionOptions } from "../../../src/main/promise/ConnectedAgent.ts"
import type {
  ConnectedAgent,
  LogLine,
  NodeAgentConnectOptions,
  RunningComputer,
  ServerOptions
} from "../../../src/main/entrypoints/promise.ts"
import { type AgentConnectOptions, connectAgent as connectWebAgent } from "../../../src/main/entrypoints/agent.ts"
import { resource } from "../../conformance/members.ts"
import { unusedUrl } from "../../loopbackAddress.ts"
import { codeOf, inOffice, waitLimit, type PromiseOffice, silentUrl } from "./promiseOffice.ts"
import { type OptionRows, testOptions } from "./optionRows.ts"

const pem = (name: string) => readFileSync(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url), "utf8")
const tls = { cert: pem("first.cert"), key: pem("first.key") }

/** The options that Agents and Computers have in common. */
type MemberOptions = ConnectionOptions &
  Pick<NodeAgentConnectOptions, "name" | "office" | "protocol" | "retryInitialConnect" | "takeOver">

/** `web` is an Agent without Node, and `again` a Computer that left another office before. */
type Kind = "agent" | "web" | "computer" | "again"
const isAgent = (kind: Kind): boolean => kind === "agent" || kind === "web"

/** Connects the Agent that runs without Node. */
const webAgent = async (office: PromiseOffice, options: Partial<AgentConnectOptions> = {}): Promise<ConnectedAgent> => {
  const place = { url: office.server.url, office: "team", name: "thinker", log: () => undefined }
  // What still joins at the end of the test is given up.
  const ending = new AbortController()
  office.defer(() => ending.abort())
  const agent = await connectWebAgent({ ...place, ...options }, ending)
  office.defer(() => agent.close())
  return agent
}

const joinAs = async (
  kind: Kind,
  office: PromiseOffice,
  options: Partial<MemberOptions>
): Promise<ConnectedAgent | RunningComputer> => {
  if (kind === "agent") return office.agent(options)
  if (kind === "web") return webAgent(office, options)
  if (kind === "computer") return office.computer(options)
  const computer = await office.computer({ ...options, office: "before" })
  await computer.leave()
  await computer.join({ office: options.office ?? "team" })
  return computer
}

/** What the Server sees in the handshake of a member. */
const handshakeOf = async (
  kind: Kind,
  options: Partial<MemberOptions>,
  select: (handshake: Parameters<Exclude<ServerOptions["authenticate"], "allowAll">>[0]) => unknown
): Promise<unknown> => {
  let seen: unknown
  const authenticate: ServerOptions["authenticate"] = (handshake) => {
    seen = select(handshake)
    return true
  }
  await inOffice((office) => joinAs(kind, office, options), { authenticate })
  return seen
}

const authOf = (auth: unknown) => auth as { readonly [member: string]: unknown }

const joining = (kind: Kind, options: Partial<MemberOptions>, serverOptions: Partial<ServerOptions> = {}) =>
  inOffice((office) => codeOf(joinAs(kind, office, options)), serverOptions)

/** The members of an office that has an observer. */
const membersWith = (kind: Kind, options: Partial<MemberOptions>, observed: string) =>
  inOffice(async (office) => {
    const observer = { office: observed, name: "observer" }
    if (isAgent(kind)) await office.computer(observer)
    const member = await joinAs(kind, office, options)
    const agent = "members" in member ? member : await office.agent(observer)
    return (await agent.members()).map(({ name }) => name).sort()
  })

/** Joins while another member is at the place, which leaves once the one that joins tells that it waits. */
const joinOccupied = (kind: Kind, options: Partial<MemberOptions>, hasLog = true) =>
  inOffice(async (office) => {
    const first = await joinAs(kind, office, {})
    let notified = ""
    const receive = (where: string) => (text: string) => {
      if (!text.includes("waiting until the place is free")) return
      notified = where
      void first.close()
    }
    const [onLog, onStderr] = [receive("log"), receive("stderr")]
    const written = vi.spyOn(console, "error").mockImplementation((text) => onStderr(String(text)))
    const log = ({ message }: LogLine) => onLog(JSON.stringify(message))
    const outcome = await codeOf(joinAs(kind, office, { ...options, log: hasLog ? log : undefined } as typeof options))
    written.mockRestore()
    return { outcome, notified }
  })

const memberRows = (kind: Kind): OptionRows<MemberOptions> => ({
  url: [{ url: unusedUrl() }, ["resolved", "unreachable"], (given) => joining(kind, given)],
  office: [
    { office: "other" },
    isAgent(kind) ? [["thinker"], ["observer", "thinker"]] : [["observer"], ["desk", "observer"]],
    (given) => membersWith(kind, given, "other")
  ],
  name: [
    { name: "ada" },
    isAgent(kind)
      ? [
          ["observer", "thinker"],
          ["ada", "observer"]
        ]
      : [
          ["desk", "observer"],
          ["ada", "observer"]
        ],
    (given) => membersWith(kind, given, "team")
  ],
  namespace: [{ namespace: "/other" }, [404, "resolved"], (given) => joining(kind, given, { namespace: "/other" })],
  transports: [
    { transports: ["websocket"] },
    [undefined, "websocket"],
    (given) => handshakeOf(kind, given, ({ headers }) => headers["upgrade"])
  ],
  token: [
    { token: () => Promise.resolve("secret") },
    [undefined, "secret"],
    (given) => handshakeOf(kind, given, ({ auth }) => authOf(auth)["token"])
  ],
  auth: [
    { auth: { key: "mine" } },
    [undefined, "mine"],
    (given) => handshakeOf(kind, given, ({ auth }) => authOf(auth)["key"])
  ],
  headers: [
    { headers: { "x-key": "mine" } },
    [undefined, "mine"],
    (given) => handshakeOf(kind, given, ({ headers }) => headers["x-key"])
  ],
  ca: [{ ca: tls.cert }, ["unreachable", "resolved"], (given) => joining(kind, given, { tls })],
  connectTimeout: [
    { connectTimeout: 50 },
    ["waits", "unreachable"],
    (given) =>
      inOffice(async (office) => {
        const url = await silentUrl(office.defer)
        const joined = codeOf(joinAs(kind, office, { ...given, url }))
        return Promise.race([
          joined,
          new Promise((resolve) =>
            waitLimit("connectTimeout" in given).signal.addEventListener("abort", () => resolve("waits"))
          )
        ])
      })
  ],
  wait: [
    { wait: 60_000 },
    [
      { outcome: "join_rejected", notified: "" },
      { outcome: "resolved", notified: "log" }
    ],
    (given) => joinOccupied(kind, given)
  ],
  log: [
    { log: () => undefined },
    [
      { outcome: "resolved", notified: "stderr" },
      { outcome: "resolved", notified: "log" }
    ],
    ({ log }) => joinOccupied(kind, { wait: 60_000 }, log !== undefined)
  ],
  protocol: [{ protocol: "0.4" }, [4008, "resolved"], (given) => joining(kind, given, { lines: ["0.4"] })],
  retryInitialConnect: [
    { retryInitialConnect: true },
    ["unreachable", "waits"],
    (given) =>
      inOffice((office) => {
        const url = unusedUrl()
        return new Promise((resolve) => {
          // The first attempt is logged; without a further one the join has failed.
          const log = ({ message }: { readonly message: ReadonlyArray<unknown> }) =>
            void (JSON.stringify(message).includes("retrying") && resolve("waits"))
          void codeOf(joinAs(kind, office, { ...given, url, log })).then(resolve)
        })
      })
  ],
  takeOver: [
    { takeOver: true },
    ["join_rejected", "resolved"],
    (given) =>
      inOffice(async (office) => {
        await joinAs(kind, office, {})
        return codeOf(joinAs(kind, office, given))
      })
  ]
})

/** What fetching a document gives that a Computer places at this URL. */
const fetching = async (office: PromiseOffice, uri: string, options: Partial<NodeAgentConnectOptions>) => {
  const alpha = await office.mcpServer({ resources: [resource("dpe://com.example/one")] })
  await office.computer({ config: { servers: { alpha } }, settings: { resolveDpe: () => ({ uri }) as never } })
  return codeOf((await office.agent(options)).fetchDocument("desk", "dpe://com.example/one"))
}

const documentRows: OptionRows<Omit<NodeAgentConnectOptions, keyof MemberOptions>> = {
  documentFolders: [
    { documentFolders: [] },
    ["document_unreadable", "resolved"],
    (given) =>
      inOffice(async (office) => {
        const folder = await office.folder()
        const path = join(folder, "one.txt")
        await writeFile(path, "one")
        return fetching(
          office,
          pathToFileURL(path).href,
          "documentFolders" in given ? { documentFolders: [folder] } : {}
        )
      })
  ],
  // This address of the machine is not in the network of the Server.
  documentHosts: [
    { documentHosts: ["0.0.*"] },
    ["document_unreadable", "resolved"],
    (given) =>
      inOffice((office) => {
        const { port } = new URL(office.server.url)
        return fetching(office, `http://0.0.0.0:${port}/healthz`, given)
      })
  ]
}

describe("an Agent of Node", () => {
  testOptions(documentRows)
})

describe("an Agent without Node", () => {
  it("fetches documents over HTTP only", () =>
    inOffice(async (office) => {
      const alpha = await office.mcpServer({ resources: [resource("dpe://com.example/one")] })
      let uri = `${office.server.url}/healthz`
      await office.computer({ config: { servers: { alpha } }, settings: { resolveDpe: () => ({ uri }) as never } })
      const agent = await webAgent(office)
      const fetched = await agent.fetchDocument("desk", "dpe://com.example/one")
      assert.strictEqual(new TextDecoder().decode(fetched.bytes).trim(), "ok")
      uri = import.meta.url
      assert.strictEqual(await codeOf(agent.fetchDocument("desk", "dpe://com.example/one")), "document_unreadable")
    }))
})

describe.each(["agent", "web", "computer", "again"] as const)("%s", (kind) => {
  const { transports, ...rows } = memberRows(kind)
  // The connection before decides which transport comes first without this option.
  if (kind === "again") testOptions<Omit<MemberOptions, "transports">>(rows)
  else testOptions<MemberOptions>({ ...rows, transports })

  it("keeps its options after a lost connection", async () => {
    const handshakes: Array<unknown> = []
    const { promise: rejoined, resolve: onRejoined } = Promise.withResolvers<void>()
    const authenticate: ServerOptions["authenticate"] = ({ auth, headers, version }) => {
      handshakes.push({ auth, version, key: headers["x-key"], transport: headers["upgrade"] })
      if (handshakes.length === (kind === "again" ? 3 : 2)) onRejoined()
      return true
    }
    const given: Partial<MemberOptions> = {
      protocol: "0.4",
      transports: ["websocket"],
      token: () => Promise.resolve("secret"),
      auth: { key: "mine" },
      headers: { "x-key": "mine" }
    }
    // The Server closes a connection without messages.
    await inOffice(
      async (office) => {
        await joinAs(kind, office, given)
        await rejoined
      },
      { authenticate, limits: { idleTimeout: 100 } }
    )
    const [last, ...others] = handshakes.reverse()
    assert.deepNestedInclude(last, { "auth.token": "secret", "auth.key": "mine", key: "mine", transport: "websocket" })
    for (const other of others) assert.deepStrictEqual(other, last)
  })
})
