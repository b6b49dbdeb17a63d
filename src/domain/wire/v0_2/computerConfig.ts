import { Record } from "effect"
import { ComputerConfig, encodeReportedConfig, ReportedConfig, withoutLocalKeys } from "../../config/computerConfig.ts"
import { isJsonObject } from "../../json.ts"
import { type Codec, makeDecoder } from "../../validation.ts"

const decode = makeDecoder(ComputerConfig)

type WireInput = ReturnType<typeof encodeReportedConfig>["inputs"]

/** Options are texts in this line: published Servers drop a whole configuration with a label (spec §8.4). */
const withoutLabels = (inputs: WireInput): WireInput =>
  inputs?.map((input) =>
    input.type === "pickString"
      ? { ...input, options: input.options.map((option) => (typeof option === "string" ? option : option.value)) }
      : input
  )

/** The reply to `client:get_config`: servers go by their names. */
export const computerConfigCodec: Codec<ComputerConfig> = {
  schema: ReportedConfig,
  // Fields of these names in the reply of another implementation may mean something else.
  decode: (wire) =>
    isJsonObject(wire) && isJsonObject(wire["servers"])
      ? decode({
          ...wire,
          servers: Record.map(wire["servers"], (server) => (isJsonObject(server) ? withoutLocalKeys(server) : server))
        })
      : decode(wire),
  encode: (config) => {
    const { inputs, servers } = encodeReportedConfig(config)
    return {
      inputs: withoutLabels(inputs),
      servers: Record.map(servers, ({ bundle_id: _, ...server }, name) => ({ ...server, name }))
    }
  }
}
