import { createServer, IncomingMessage, ServerResponse } from "node:http"
import { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { routeSharedRequests } from "../../../src/adapters/socketio/routeRequests.ts"

/** An HTTP server of a host, to which offices are added, and what takes the next requests. */
const makeHost = () => {
  const taken: Array<string> = []
  const http = createServer(() => void taken.push("host"))
  const add = (name: string, ...paths: ReadonlyArray<string>) =>
    routeSharedRequests(
      http,
      { handleRequest: () => void taken.push(name), handleUpgrade: () => undefined },
      () => undefined,
      { paths }
    )
  /** The names of what takes requests to these paths. */
  const route = (...paths: ReadonlyArray<string>) => {
    taken.length = 0
    for (const path of paths) {
      const request = Object.assign(new IncomingMessage(new Socket()), { url: path, method: "GET" })
      http.emit("request", request, new ServerResponse(request))
    }
    return taken.join()
  }
  return { add, route }
}

describe("an office on an HTTP server of a host", () => {
  it("gets the requests to its path, and the host all others", () => {
    const { add, route } = makeHost()
    add("one", "/one")
    add("two", "/two")
    assert.strictEqual(route("/two/", "/one/", "/three"), "two,one,host")
  })

  it("takes a path from an earlier one, until it is closed", () => {
    const { add, route } = makeHost()
    add("one", "/smcp")
    const closeTwo = add("two", "/smcp")
    assert.strictEqual(route("/smcp/"), "two")
    closeTwo()
    assert.strictEqual(route("/smcp/", "/"), "one,host")
  })

  it("leaves all requests to the host after the last one, in any order", () => {
    const { add, route } = makeHost()
    const [closeOne, closeTwo] = [add("one", "/one"), add("two", "/two")]
    closeOne()
    assert.strictEqual(route("/one/", "/two/"), "host,two")
    closeTwo()
    assert.strictEqual(route("/one/", "/two/"), "host,host")
  })
})
