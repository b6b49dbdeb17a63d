import type { Inspection } from "../../../src/domain/page/Inspection.ts"
import type { PageSession } from "../../../src/domain/page/PageCommand.ts"
import type { PageCall } from "../../../src/domain/page/PageEvent.ts"
import { makeInspection, makeSession, makeSnapshot, type SnapshotChanges, team } from "./pageFixtures.ts"
import type { Replies, ScriptedServer } from "./ScriptedServer.ts"

/** Prepares a Server before a page opens. */
export type Preparation = (server: ScriptedServer) => void

export const withSnapshot =
  (changes: SnapshotChanges): Preparation =>
  (server) =>
    void (server.snapshot = makeSnapshot(changes))

export const withCalls = (...calls: ReadonlyArray<PageCall>): Preparation => withSnapshot({ calls })

export const withSession =
  (changes: Partial<PageSession>): Preparation =>
  (server) =>
    void (server.session = makeSession(changes))

/** The page must sign in. */
export const withoutSession: Preparation = (server) => void (server.session = undefined)

export const withReplies =
  (replies: Replies): Preparation =>
  (server) =>
    void Object.assign(server.replies, replies)

/** The state of the Computer `desk`. */
export const withInspection =
  (changes: Partial<Inspection> = {}): Preparation =>
  (server) =>
    void (server.firstEvents = [{ _tag: "Inspected", ...team, computer: "desk", inspection: makeInspection(changes) }])
