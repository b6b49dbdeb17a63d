import type { Surface } from "../Surface.ts"
import { appSurface } from "./apps.ts"
import { configSurface } from "./configs.ts"
import { deviceSurface } from "./devices.ts"
import { gatewaySurface } from "./gateway.ts"
import { handshakeSurface } from "./handshakes.ts"
import { httpSurface } from "./http.ts"
import { messageSurface } from "./messages.ts"
import { nodeSurface } from "./nodes.ts"
import { oddServerSurface } from "./oddServers.ts"
import { packSurface } from "./packs.ts"
import { packetSurface } from "./packets.ts"
import { questionSurface } from "./questions.ts"
import { socketSurface } from "./sockets.ts"
import { stdioSurface } from "./stdio.ts"
import { textSurface } from "./texts.ts"
import { toolServerSurface } from "./toolServer.ts"
import { uriSurface } from "./uris.ts"

/** All surfaces: first the parsers, then the live ones. */
export const surfaces: ReadonlyArray<Surface> = [
  packetSurface,
  messageSurface,
  uriSurface,
  appSurface,
  textSurface,
  configSurface,
  questionSurface,
  deviceSurface,
  packSurface,
  nodeSurface,
  socketSurface,
  handshakeSurface,
  gatewaySurface,
  toolServerSurface,
  stdioSurface,
  httpSurface,
  oddServerSurface
]
