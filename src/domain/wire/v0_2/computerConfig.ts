import { Record } from "effect"
import { ComputerConfig, encodeReportedConfig, ReportedConfig, withoutLocalKeys } from "../../config/computerConfig.ts"
import { isJsonObject } from "../../json.ts"
import { type Codec, makeDecoder } from "../../validation.ts"

const decode = makeDecoder(ComputerConfig)

type WireInputs = ReturnType<typeof encodeReportedConfig>["inputs"]
type Option = Extract<NonNullable<WireInputs>[number], { readonly type: "pickString" }>["options"][number]

export const mapOptions = (inputs: WireInputs, change: (option: Option) => Option): WireInputs =>
  inputs?.map((input) => (input.type === "pickString" ? { ...input, options: input.options.map(change) } : input))

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
      // Options are texts in this line: published Servers drop a whole configuration with a label (spec §8.4).
      inputs: mapOptions(inputs, (option) => (typeof option === "string" ? option : option.value)),
      servers: Record.map(servers, ({ bundle_id: _, ...server }, name) => ({ ...server, name }))
    }
  }
}
