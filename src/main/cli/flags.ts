import { hostname } from "node:os"
import { Config, Schema } from "effect"
import { Flag } from "effect/cli"
import { Identifier } from "../../domain/protocol/v0_2/fields.ts"

/** Offices and members are named by texts that the protocol takes. */
const named = Flag.filter(Schema.is(Identifier), () => "a text that is not empty, of at most 256 characters")

/** Where the Server is. */
export const serverUrl = Flag.String("server").pipe(
  Flag.withMetavar("URL"),
  Flag.withDescription(
    "URL of the Server, with its path where that is not /smcp " +
      "[env A2C_SERVER; default: http://127.0.0.1:7070]"
  ),
  Flag.withFallbackConfig(Config.String("A2C_SERVER")),
  Flag.withDefault("http://127.0.0.1:7070")
)

/** The office to join. */
export const office = Flag.String("office").pipe(
  Flag.withMetavar("ID"),
  Flag.withDescription("office to join [env A2C_OFFICE]"),
  Flag.withFallbackConfig(Config.String("A2C_OFFICE")),
  named
)

/** The name of a member; an Agent at a terminal seldom needs one of its own. */
export const agentName = Flag.String("name").pipe(
  Flag.withMetavar("NAME"),
  Flag.withDescription("name of this Agent [env A2C_NAME; default: a2c-agent]"),
  Flag.withFallbackConfig(Config.String("A2C_NAME")),
  Flag.withDefault("a2c-agent"),
  named
)

/** The name under which a Computer is called. */
export const computerName = Flag.String("name").pipe(
  Flag.withMetavar("NAME"),
  Flag.withDescription(
    "name of this Computer, unique in its office [env A2C_NAME; default: the host's name]"
  ),
  Flag.withFallbackConfig(Config.String("A2C_NAME")),
  Flag.withDefault(hostname()),
  named
)

/** Which Computer is meant; all of them, or the one that fits, when it is left out. */
export const computer = Flag.String("computer").pipe(
  Flag.withMetavar("NAME"),
  Flag.withDescription("which Computer is meant"),
  Flag.optional
)

/** Values of inputs, which win over every other source. */
export const inputValues = Flag.KeyValuePair("input").pipe(
  Flag.withMetavar("ID=VALUE"),
  Flag.withDescription(
    "value of an input of the configuration; may be repeated. Others can see the arguments of a process: " +
      "give secrets by the environment, as A2C_SMCP_ID"
  ),
  Flag.withDefault({})
)
