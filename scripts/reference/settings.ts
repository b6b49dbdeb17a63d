import { KeyFile } from "../../src/adapters/auth/apiKeyEntries.ts"
import { ComputerConfig } from "../../src/domain/config/computerConfig.ts"
import {
  SseParameters,
  StdioParameters,
  StreamableParameters,
  withParameterDefaults
} from "../../src/domain/config/endpointParameters.ts"
import { PackConfigFile } from "../../src/domain/packs/packConfig.ts"
import { ParsedPolicy } from "../../src/domain/policy/parseRules.ts"
import { page } from "./markdown.ts"
import { fieldTable } from "./schemas.ts"

export const settingsPage = (): string =>
  page(
    "Configuration files",
    "Every key of the files that `a2c` reads. `NAME` stands for a name of your choice, and `[]` for the entries of a list.",
    "## Computer",
    "`a2c computer --config FILE`: [configuration.md](../configuration.md). This is the A2C format; the formats of other hosts are translated to it.",
    fieldTable("key", ComputerConfig),
    "`server_parameters` of the type `stdio`:",
    fieldTable("key", StdioParameters, withParameterDefaults("stdio", {})),
    "`server_parameters` of the type `streamable`, with ISO 8601 durations:",
    fieldTable("key", StreamableParameters, withParameterDefaults("streamable", {})),
    "`server_parameters` of the type `sse`, with times in seconds:",
    fieldTable("key", SseParameters, withParameterDefaults("sse", {})),
    "## Rules",
    "`--policy FILE`: [rules](../configuration.md#rules).",
    fieldTable("key", ParsedPolicy),
    "## Server",
    "`a2c server --config FILE`: the names of the [flags](commands.md#a2c-server) without `--`, as `port: 7070`; see [server.md](../server.md#configuration-file).",
    "## API keys",
    "`a2c server --api-keys FILE`: [authentication](../server.md#authentication).",
    fieldTable("key", KeyFile),
    "## Packs",
    "`config.yaml` in the folder of a pack: [packs.md](../packs.md).",
    fieldTable("key", PackConfigFile)
  )
