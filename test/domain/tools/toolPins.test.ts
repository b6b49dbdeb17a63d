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

  it("notices another command of its MCP server", () => {
    const [difference, ...others] = changeOf(entry(), config("b"))?.differences ?? []
    assert.isEmpty(others)
    assert.strictEqual(difference?.part, "server")
    assert.match(difference?.before ?? "", /^notes \(stdio [0-9a-f]{8}\)$/)
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
    assert.strictEqual(findPin(pins, entry())?.by, "bob")
    assert.isUndefined(findPin(pins.slice(0, 2), entry()))
    assert.deepStrictEqual(
      addPin(pins, pin({ by: "eve" })).map(({ by, server, tool }) => `${server} ${tool} ${by}`),
      ["other write ann", "notes read ann", "notes write eve"]
    )
  })

  it("pushes the oldest one out beyond the limit", () => {
    const many = Array.from({ length: maxPins }, (_, index) => pin({ tool: `${index}` }))
    const all = addPin(many, pin())
    assert.deepStrictEqual([all.length, all[0]?.tool, all.at(-1)?.tool], [maxPins, "1", "write"])
  })
})
