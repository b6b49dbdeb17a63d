import { objects, request, text } from "../payloads.ts"
import { type Case, ratioAtLeast, ratioAtMost } from "./Case.ts"
import { closedCase, type ClosedLoad } from "./closed.ts"
import { besideCase, floodCase, rateCase } from "./latency.ts"
import { connectCase, fanOutCase } from "./members.ts"
import { heapCase, idleCase } from "./memory.ts"
import { processesCase } from "./processes.ts"
import { startupCase } from "./startup.ts"
import { stormCase } from "./storm.ts"

const kilobyte = 1024
const megabyte = 1024 * kilobyte

const small: ClosedLoad = {
  name: "1k",
  about: "results of 1 KB text",
  payload: () => text(kilobyte),
  pairs: 16,
  inFlight: 4,
  warmUp: 100_000,
  millis: 400,
  starts: 3,
  targets: { cpu: ratioAtMost(0.65), rate: ratioAtLeast(1.5) }
}

const large: ClosedLoad = {
  name: "8m",
  about: "results of 8 MB text",
  payload: () => text(8 * megabyte),
  pairs: 2,
  inFlight: 1,
  warmUp: 40,
  millis: 500,
  targets: { rate: ratioAtLeast(2) }
}

/** All cases in their order. */
export const cases: ReadonlyArray<Case> = [
  closedCase(small),
  closedCase({
    name: "64k",
    about: "results of 64 KB text",
    payload: () => text(64 * kilobyte),
    pairs: 8,
    inFlight: 2,
    warmUp: 10_000,
    millis: 400,
    targets: { cpu: ratioAtMost(0.45) }
  }),
  closedCase({
    name: "64k-objects",
    about: "results of 64 KB in small objects",
    payload: () => objects(64 * kilobyte),
    pairs: 8,
    inFlight: 2,
    warmUp: 3000,
    millis: 400,
    targets: { rate: ratioAtLeast(3.5) }
  }),
  closedCase({
    name: "64k-request",
    about: "requests with parameters of 64 KB text",
    payload: () => request(64 * kilobyte),
    pairs: 8,
    inFlight: 2,
    warmUp: 10_000,
    millis: 400,
    targets: {}
  }),
  closedCase({
    name: "1m",
    about: "results of 1 MB text",
    payload: () => text(megabyte),
    pairs: 4,
    inFlight: 1,
    warmUp: 500,
    millis: 400,
    targets: { cpu: ratioAtMost(0.35), rate: ratioAtLeast(2) }
  }),
  closedCase({
    name: "1m-objects",
    about: "results of 1 MB in small objects",
    payload: () => objects(megabyte),
    pairs: 4,
    inFlight: 1,
    warmUp: 200,
    millis: 500,
    targets: { rate: ratioAtLeast(6) }
  }),
  closedCase(large),
  rateCase,
  besideCase,
  floodCase,
  fanOutCase,
  connectCase,
  idleCase,
  heapCase,
  startupCase,
  processesCase({ small, large }),
  stormCase
]
