/** Who sits at which Server, by its number, as long as it runs; else at the next one. */
export interface Home {
  readonly name: string
  readonly home: number
}

/** An office: an Agent, and the Computers that it calls. */
export interface Office {
  readonly agent: Home
  readonly computers: ReadonlyArray<Home>
}

/** What is there. Names are unique. */
export interface Cast {
  readonly servers: number
  readonly offices: ReadonlyArray<Office>
}

/** How much is called, and how long anything may take. */
export interface Load {
  /** Milliseconds between two calls of a pair. */
  readonly every: number
  /** Milliseconds that the tool takes. */
  readonly work: number
  /** Seconds that a call may take. */
  readonly timeout: number
  /** Milliseconds after that until it counts as lost. */
  readonly grace: number
}

/** Three Servers, and pairs within one of them and across. */
export const largeCast: Cast = {
  servers: 3,
  offices: [
    {
      agent: { name: "ada", home: 0 },
      computers: [
        { name: "desk", home: 0 },
        { name: "shelf", home: 1 }
      ]
    },
    {
      agent: { name: "bob", home: 1 },
      computers: [
        { name: "lamp", home: 1 },
        { name: "store", home: 2 }
      ]
    }
  ]
}

/** The least that has it all: two Servers, a pair at one of them and one across. */
export const smallCast: Cast = {
  servers: 2,
  offices: [
    {
      agent: { name: "ada", home: 0 },
      computers: [
        { name: "desk", home: 0 },
        { name: "shelf", home: 1 }
      ]
    }
  ]
}
