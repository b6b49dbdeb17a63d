import { webComputerLayer } from "../../layers/webComputerLayer.ts"
import { makeWebFunctions } from "../../layers/webFunctions.ts"
import { checkArguments, type ChecksOf } from "../checkArguments.ts"
import { toClientOptions } from "../ConnectedAgent.ts"
import type { Cancellable } from "../RunningService.ts"
import { toLayerOptions } from "./computerHooks.ts"
import {
  computerChecks,
  computerRows,
  type JoinedComputer,
  type MemberComputerOptions,
  startComputer
} from "./JoinedComputer.ts"

/** Options of a Computer of functions, and its connection. */
export interface JoinAsComputerOptions extends Omit<MemberComputerOptions, "authorize" | "inputs" | "office"> {
  readonly office: string
  /** Replaces a Computer of this name and the same identity, such as that of the page before a reload; true by default. */
  readonly takeOver?: boolean
}

const { authorize: _authorize, inputs: _inputs, ...checks } = computerChecks

const joinChecks: ChecksOf<JoinAsComputerOptions> = { ...checks, office: ["identifier"] }

/**
 * Joins an office as a Computer whose tools, windows and documents are functions of this program; reconnects when the
 * connection is lost, until it is closed. Needs no Node.
 */
export const joinAsComputer = async (
  options: JoinAsComputerOptions,
  cancellable?: Cancellable
): Promise<JoinedComputer> => {
  checkArguments("joinAsComputer", [joinChecks], [options])
  const { documents: _documents, tools: _tools, windows: _windows, ...others } = options
  return startComputer(
    options,
    makeWebFunctions,
    (sessions) =>
      webComputerLayer({ ...toClientOptions(toLayerOptions(others)), takeOver: options.takeOver ?? true, sessions }),
    computerRows,
    cancellable
  )
}
