import { assert, describe, it } from "@effect/vitest"
import {
  addPin,
  makePinnedDefinition,
  findPin,
  findToolChange,
  maxPartLength,
  maxPins,
  type ToolPin
} from "../../../src/domain/tools/toolPins.ts"
import type { ServerConfig } from "../../../src/domain/config/computerConfig.ts"
import type { CatalogueEntry } from "../../../src/domain/tools/catalogue.ts"

const entry = (changes: Partial<CatalogueEntry["tool"]> = {}, server = "notes"): CatalogueEntry => ({
  tool: { name: "write", description: "Writes.", paramsSchema: { type: "object" }, returnSchema: null, ...changes },
  server,
  serverId: server,
  originalName: "write",
  shortName: "write",
  autoApply: false
})

const config = (command: string) => ({ type: "stdio", parameters: { command } }) as unknown as ServerConfig

const pin = (changes: Partial<ToolPin> = {}): ToolPin => {
  const { definition, digest } = makePinnedDefinition(entry(), config("a"))
  return { server: "notes", tool: "write", digest, definition, at: 7, by: "ann", ...changes }
}

const changeOf = (now: CatalogueEntry, at = config("a")) => {
  const { definition, digest } = makePinnedDefinition(now, at)
  return findToolChange(pin(), digest, definition)
}

describe("pin of a tool", () => {
  it("finds no change of the same definition, nor without a pin", () => {
    assert.isUndefined(changeOf(entry()))
    const { definition, digest } = makePinnedDefinition(entry(), undefined)
    assert.isUndefined(findToolChange(undefined, digest, definition))
  })

  it("does not depend on the order of the members of a schema", () => {
    const schema = (members: object) => entry({ paramsSchema: members as CatalogueEntry["tool"]["paramsSchema"] })
    const digest = (one: CatalogueEntry) => makePinnedDefinition(one, undefined).digest
    assert.strictEqual(digest(schema({ a: 1, b: 2 })), digest(schema({ b: 2, a: 1 })))
  })

  it("shows the parts that changed, and who approved the tool", () => {
    assert.deepStrictEqual(changeOf(entry({ description: "Sends." })), {
      approvedAt: 7,
      approvedBy: "ann",
      differences: [{ part: "description", before: "Writes.", after: "Sends." }]
    })
    assert.deepStrictEqual(changeOf(entry({ paramsSchema: { type: "string" } }))?.differences, [
      { part: "schema", before: '{\n  "type": "object"\n}', after: '{\n  "type": "string"\n}' }
    ])
  })

  it("shows another command of its MCP server as command lines", () => {
    assert.deepStrictEqual(changeOf(entry(), config("b c"))?.differences, [
      { part: "server", before: "a", after: "'b c'" }
    ])
  })

  it("shows how an MCP server starts, or its address, without secrets", () => {
    const launch = (parameters: object) =>
      makePinnedDefinition(entry(), { type: "stdio", parameters } as unknown as ServerConfig).definition.launch
    assert.strictEqual(
      launch({
        command: "npx",
        args: ["-y", "server", "--token", "t0p", "--api-key=t0p", "--verbose"],
        cwd: "/srv",
        env: { B_TOKEN: "t0p", A: "1" }
      }),
      "npx -y server --token '(hidden)' '--api-key=(hidden)' --verbose\nfolder: /srv\nenvironment variables: A, B_TOKEN"
    )
    assert.strictEqual(
      launch({
        command: "npx",
        args: ["mcp-remote", "https://x.org/mcp?key=t0p", "--header", "Authorization: Bearer t0p", "pg://u:t0p@h/db"]
      }),
      "npx mcp-remote 'https://x.org/mcp?key=(hidden)' --header 'Authorization:(hidden)' pg://h/db"
    )
    assert.strictEqual(
      launch({ url: "https://ann:t0p@x.org/mcp?key=t0p&v=1#t0p", headers: { Authorization: "t0p" } }),
      "https://x.org/mcp?key=(hidden)&v=(hidden)\nheaders: Authorization"
    )
  })

  it("covers also what is truncated for display", () => {
    const long = (end: string) => entry({ description: "x".repeat(maxPartLength) + end })
    assert.notStrictEqual(
      makePinnedDefinition(long("a"), undefined).digest,
      makePinnedDefinition(long("b"), undefined).digest
    )
    const { description } = makePinnedDefinition(long("a"), undefined).definition
    assert.strictEqual(description, `${"x".repeat(maxPartLength - 1)}…`)
    const whole = "x".repeat(maxPartLength)
    assert.strictEqual(makePinnedDefinition(entry({ description: whole }), undefined).definition.description, whole)
  })

  it("is found by the MCP server and the name there, and replaced by the next one", () => {
    const pins = [pin({ server: "other" }), pin({ tool: "read" }), pin({ by: "bob" })]
    const { definition } = pin()
    assert.strictEqual(findPin(pins, entry(), definition)?.by, "bob")
    assert.isUndefined(findPin(pins.slice(0, 2), entry(), definition))
    assert.deepStrictEqual(
      addPin(pins, pin({ by: "eve" })).map(({ by, server, tool }) => `${server} ${tool} ${by}`),
      ["other write ann", "notes read ann", "notes write eve"]
    )
  })

  describe("of one of several configurations", () => {
    const of = (source: string, command: string, description = "Writes.") => {
      const { definition, digest } = makePinnedDefinition(entry({ description }), config(command), source)
      return { definition, digest, pin: pin({ definition, digest, by: source }) }
    }
    const home = of("/home/mcp.json", "a")

    /** The parts in which a tool differs from the pins. */
    const partsOf = ({ definition, digest }: ReturnType<typeof of>, ...pins: ReadonlyArray<ToolPin>) =>
      findToolChange(findPin(pins, entry(), definition), digest, definition)?.differences.map(({ part }) => part)

    it("finds a change of the same configuration: of the tool, and of the command line", () => {
      assert.deepStrictEqual(partsOf(of("/home/mcp.json", "a", "Sends."), home.pin), ["description"])
      assert.deepStrictEqual(partsOf(of("/home/mcp.json", "b"), home.pin), ["server"])
    })

    it("finds no change in another configuration under the same name", () => {
      assert.isUndefined(partsOf(of("/work/mcp.json", "b", "Sends."), home.pin))
    })

    it("finds a change of the tool of the same MCP server in another configuration", () => {
      assert.deepStrictEqual(partsOf(of("/work/mcp.json", "a", "Sends."), home.pin), ["description"])
    })

    it("keeps the pins of all of them", () => {
      const work = of("/work/mcp.json", "b", "Sends.")
      const pins = addPin([home.pin], work.pin)
      assert.deepStrictEqual(
        pins.map(({ by }) => by),
        ["/home/mcp.json", "/work/mcp.json"]
      )
      assert.isUndefined(partsOf(home, ...pins))
      assert.deepStrictEqual(partsOf(of("/home/mcp.json", "a", "Sends."), ...pins), ["description"])
    })

    it("says that an earlier version did not record the command line", () => {
      const { launch: _, ...definition } = home.definition
      const changed = of("/home/mcp.json", "b")
      assert.deepStrictEqual(
        findToolChange({ ...home.pin, definition }, changed.digest, changed.definition)?.differences,
        [{ part: "server", before: "(not recorded)", after: "b" }]
      )
    })
  })

  it("pushes the oldest one out beyond the limit", () => {
    const many = Array.from({ length: maxPins }, (_, index) => pin({ tool: `${index}` }))
    const all = addPin(many, pin())
    assert.deepStrictEqual([all.length, all[0]?.tool, all.at(-1)?.tool], [maxPins, "1", "write"])
  })
})
