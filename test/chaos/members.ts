import type { LineName } from "../../src/domain/wire/lines.ts"

/** Index of the Server of a member. While that Server is down, the next one is used. */
export interface Home {
  readonly name: string
  readonly home: number
}

/** An office: an Agent and the Computers that it calls. */
export interface Office {
  readonly protocol: LineName
  readonly agent: Home
  readonly computers: ReadonlyArray<Home>
}

/** All parts. Names are unique. The offices of different protocols have the same id. */
export interface Members {
  readonly servers: number
  readonly offices: ReadonlyArray<Office>
}

/** Load and timeouts. */
export interface Load {
  /** Milliseconds between two calls of a pair. */
  readonly every: number
  /** Duration of the tool in milliseconds. */
  readonly work: number
  /** Timeout of a call in seconds. */
  readonly timeout: number
  /** Milliseconds after the timeout until a call is lost. */
  readonly grace: number
}

/** The id of all offices. */
export const officeId = "office"

/** Three Servers, with pairs on one Server and across Servers. */
export const largeMembers: Members = {
  servers: 3,
  offices: [
    {
      protocol: "0.2",
      agent: { name: "ada", home: 0 },
      computers: [
        { name: "desk", home: 0 },
        { name: "shelf", home: 1 }
      ]
    },
    {
      protocol: "0.4",
      agent: { name: "bob", home: 1 },
      computers: [
        { name: "lamp", home: 1 },
        { name: "store", home: 2 }
      ]
    }
  ]
}

/** The smallest complete set: two Servers, one pair on one of them and one across. */
export const smallMembers: Members = {
  servers: 2,
  offices: [
    {
      protocol: "0.3",
      agent: { name: "ada", home: 0 },
      computers: [
        { name: "desk", home: 0 },
        { name: "shelf", home: 1 }
      ]
    }
  ]
}
