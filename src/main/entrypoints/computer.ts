/**
 * The Computer for browsers and other runtimes without Node, whose tools, windows and documents are functions of the
 * program: with promises, and as an Effect layer on Socket.IO. A Server accepts pages of other origins only when it lists
 * their origins.
 */
import "./requireNode.ts"
import "../requireEffect.ts"
export * from "./names/computerNames.ts"
export { offerPageTools } from "../../adapters/webmcp/offerPageTools.ts"
export { pageWindow, type PageWindowOptions } from "../../adapters/functions/pageWindow.ts"
export * from "./names/toolNames.ts"
export { A2cError, type A2cErrorCode } from "../A2cError.ts"
export { webComputerLayer as computerLayer } from "../layers/webComputerLayer.ts"
export { makeWebFunctions as makeFunctions } from "../layers/webFunctions.ts"
export type { ConnectionOptions } from "../promise/ConnectedAgent.ts"
export type { ComputerHooks } from "../promise/computer/computerHooks.ts"
export { joinAsComputer, type JoinAsComputerOptions } from "../promise/computer/joinAsComputer.ts"
export type { ComputerJoinOptions, JoinedComputer, ServerStateView } from "../promise/computer/JoinedComputer.ts"
export type { Cancellable, Closeable, Log, LogLine } from "../promise/RunningService.ts"
