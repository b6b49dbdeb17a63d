import { Effect, Option } from "effect"
import { computerNotFound, notFound } from "../../../../domain/model/ProtocolError.ts"
import {
  type CommandTarget,
  type PageCommand,
  type PageCommandOf,
  pageCommands,
  type TagsWithTarget
} from "../../../../domain/page/PageCommand.ts"
import type { ComputerAddress } from "../computerRequests.ts"
import type { WatchedServer } from "../WatchedServer.ts"
import type { OtherNodes, Place } from "./otherNodes.ts"
import type { ExecuteCommand, CallAsOperator } from "../../../shared/page/PageSource.ts"

interface LocalCommands {
  readonly execute: ExecuteCommand
  readonly call: CallAsOperator
}

/** The node of a call by its id, `NODE/SERIAL`. */
const nodeOfCall = (id: string): string => id.slice(0, Math.max(0, id.lastIndexOf("/")))

/** Executes commands and calls at the node of their target, which the given functions do for this node. */
export const makeClusterCommands = (
  { connections, registry, servedLines }: WatchedServer,
  others: OtherNodes,
  { call, execute }: LocalCommands
): LocalCommands => {
  /** The node of a Computer. This node knows the members of the offices in which it has members. */
  const placeOfComputer = ({ computer, line, office }: ComputerAddress): Place => {
    const served = servedLines.find(({ name }) => name === line)
    const member = served && Option.getOrUndefined(registry.findComputer(served.officeKey(office), computer))
    return member === undefined ? { absent: computerNotFound(computer) } : { node: member.node }
  }

  const places: { readonly [T in CommandTarget]: (command: PageCommandOf<TagsWithTarget<T>>) => Place } = {
    here: () => ({ node: registry.node }),
    node: ({ node }) => ({ node }),
    call: ({ id }) => ({ node: nodeOfCall(id) }),
    connection: ({ sid }) =>
      connections.get(sid) === undefined ? { absent: notFound(`No connection '${sid}'`) } : { node: registry.node },
    computer: placeOfComputer
  }

  const placeOf = (command: PageCommand): Place =>
    // A target takes the commands that have it.
    (places[pageCommands[command._tag].target] as (command: PageCommand) => Place)(command)

  /** True when this node serves a place: also for an unknown target, to which it replies with an error. */
  const isHere = (place: Place): boolean => {
    const nodes = others.names()
    return "node" in place ? !nodes.includes(place.node) : nodes.length === 0
  }

  return {
    execute: (command, operator) =>
      Effect.suspend(() => {
        const place = placeOf(command)
        return isHere(place) ? execute(command, operator) : others.execute(place, command, operator)
      }),
    call: (request, operator) =>
      Effect.suspend(() => {
        const place = placeOfComputer(request)
        return isHere(place) ? call(request, operator) : others.call(request, operator, place)
      })
  }
}
