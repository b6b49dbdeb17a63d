import { type ComputerConfig, encodeReportedConfig } from "../../config/computerConfig.ts"
import type { Codec } from "../../validation.ts"
import { computerConfigCodec as earlierCodec } from "../v0_2/computerConfig.ts"

type WireInput = ReturnType<typeof encodeReportedConfig>["inputs"]

/** Newer peers of this line require labels. */
const withLabels = (inputs: WireInput): WireInput =>
  inputs?.map((input) =>
    input.type === "pickString"
      ? {
          ...input,
          options: input.options.map((option) =>
            typeof option === "string" ? { label: option, value: option } : option
          )
        }
      : input
  )

/** The reply to `client:get_config`: servers go by their bundle ids, and only the first one of equal ids is sent. */
export const computerConfigCodec: Codec<ComputerConfig> = {
  schema: earlierCodec.schema,
  decode: earlierCodec.decode,
  encode: (config) => {
    const { inputs, servers } = encodeReportedConfig(config)
    const byId = Map.groupBy(Object.values(servers), (server) => server.bundle_id)
    return {
      inputs: withLabels(inputs),
      servers: Object.fromEntries([...byId].map(([id, [first]]) => [id, first]))
    }
  }
}
