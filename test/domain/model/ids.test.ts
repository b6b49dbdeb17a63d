import { assert, describe, it } from "vitest"
import {
  type ComputerName,
  type OfficeId,
  officeIdOf,
  officeKeyOfLine,
  type RequestId,
  type SessionId
} from "../../../src/domain/model/ids.ts"

describe("ids", () => {
  it("tells kinds of ids apart by type", () => {
    const office: OfficeId = "team"
    const computer: ComputerName = "desk"
    const request: RequestId = "r1"
    const session: SessionId = "s1"
    // @ts-expect-error: the id of an office is no name of a Computer.
    const asComputer: ComputerName = office
    // @ts-expect-error: the name of a Computer is no id of a request.
    const asRequest: RequestId = computer
    // @ts-expect-error: the id of a request is no id of a session.
    const asSession: SessionId = request
    // @ts-expect-error: the id of a session is no id of an office.
    const asOffice: OfficeId = session
    assert.deepStrictEqual<ReadonlyArray<string>>(
      [asComputer, asRequest, asSession, asOffice],
      ["team", "desk", "r1", "s1"]
    )
  })

  it("gives the id of an office from its key, and from itself", () => {
    const key = officeKeyOfLine("0.2", "team")
    assert.notStrictEqual<string>(key, officeKeyOfLine("0.3", "team"))
    assert.deepStrictEqual<ReadonlyArray<string>>([officeIdOf(key), officeIdOf("team")], ["team", "team"])
  })
})
