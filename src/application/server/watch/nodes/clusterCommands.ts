import { Effect, Option } from "effect"
import { computerNotFound, notFound, type ProtocolError } from "../../../../domain/model/ProtocolError.ts"
import {
  type CommandTarget,
  type PageCommand,
  type PageCommandOf,
  pageCommands,
  type TagsWithTarget
} from "../../../../domain/page/PageCommand.ts"
import type { WatchedServer } from "../WatchedServer.ts"
import type { OtherNodes } from "./otherNodes.ts"
import type { PageSource } from "../../../shared/page/PageSource.ts"
import type { ComputerAddress } from "../computerHandlers.ts"

/** Where the target of a command is: at a node, or at one of the other nodes. */
type Place = { readonly node: string } | { readonly absent: ProtocolError }

type LocalCommands = Pick<PageSource, "execute" | "call">

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
        if (isHere(place)) return execute(command, operator)
        return "node" in place
          ? others.execute(place.node, command, operator)
          : others.executeAnywhere(command, operator, place.absent)
      }),
    call: (request, operator) =>
      Effect.suspend(() => {
        const place = placeOfComputer(request)
        if (isHere(place)) return call(request, operator)
        return others.call(request, operator, place)
      })
  }
}
