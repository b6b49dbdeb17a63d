import { Iterable, Option, Result } from "effect"
import { skillMainFile } from "../model/messages/requests.ts"
import { appScheme, isAppUri } from "../tools/appTools.ts"
import { hostLabel } from "../tools/exposedNames.ts"
import type { ComputerName } from "../model/ids.ts"

export interface OfficeResource {
  readonly computer: ComputerName
  readonly uri: string
}

const resourceUriPattern = /^(window|dpe):\/\/([^/?#]+)(.*)$/is

const splitUri = (uri: string) => {
  const match = resourceUriPattern.exec(uri)
  return match === null
    ? undefined
    : { scheme: String(match[1]).toLowerCase(), host: String(match[2]), rest: String(match[3]) }
}

/**
 * Formats the URI of a window or document for the whole office, with the Computer as prefix of the host:
 * `window://app/notes` of `desk` becomes `window://desk.app/notes`. Gives `undefined` for other schemes.
 */
export const toOfficeUri = ({ computer, uri }: OfficeResource): string | undefined => {
  const parts = splitUri(uri)
  return parts && `${parts.scheme}://${hostLabel(computer)}.${parts.host}${parts.rest}`
}

/** Finds the Computer and the URI there for a URI of the office. */
export const parseOfficeUri = (uri: string, computers: Iterable<string>): OfficeResource | undefined => {
  const parts = splitUri(uri)
  if (parts === undefined) return undefined
  const { host, rest, scheme } = parts
  for (const computer of computers) {
    const prefix = `${hostLabel(computer)}.`
    if (host.startsWith(prefix) && host.length > prefix.length) {
      return { computer, uri: `${scheme}://${host.slice(prefix.length)}${rest}` }
    }
  }
  return undefined
}

export interface OfficeSkillFile {
  readonly computer: ComputerName
  readonly skill: string
  /** The path below the folder of the skill; the main file without one. */
  readonly relPath?: string
}

const skillUriPattern = /^skill:\/\/([^/?#]+)\/([^/?#]+)(?:\/([^?#]+))?$/i

/** Formats the URI of a skill's file for the whole office: `skill://desk/review/SKILL.md`. */
export const toSkillUri = ({ computer, relPath = skillMainFile, skill }: OfficeSkillFile): string => {
  const path = relPath.split("/").map(encodeURIComponent).join("/")
  return `skill://${hostLabel(computer)}/${encodeURIComponent(skill)}/${path}`
}

const decodeSegment = (text: string) => Result.getOrUndefined(Result.try(() => decodeURIComponent(text)))

const findComputer = (computers: Iterable<string>, label: string | undefined) =>
  Option.getOrUndefined(Iterable.findFirst(computers, (known) => hostLabel(known) === label))

/** Finds the file for a URI of {@link toSkillUri}. */
export const parseSkillUri = (uri: string, computers: Iterable<string>): OfficeSkillFile | undefined => {
  const [, label, name = "", path = skillMainFile] = skillUriPattern.exec(uri) ?? []
  const computer = findComputer(computers, label)
  const [skill, ...segments] = [name, ...path.split("/")].map(decodeSegment)
  if (computer === undefined || skill === undefined || segments.includes(undefined)) return undefined
  return { computer, skill, relPath: segments.join("/") }
}

/** A resource of an MCP server of an office, or a template of resources. */
export interface ServerResource {
  readonly computer: ComputerName
  /** The identity of the MCP server in the office. */
  readonly server: string
  readonly uri: string
}

const serverScheme = "mcp://"

/**
 * Formats the URI of a resource of an MCP server for the whole office, with its own URI as the end, which may be a
 * template: `mcp://desk/notes/note://{id}`. A user interface keeps its scheme: `ui://desk/notes/form`.
 */
export const toServerUri = ({ computer, server, uri }: ServerResource): string => {
  const place = `${hostLabel(computer)}/${encodeURIComponent(server.toWellFormed())}`
  return isAppUri(uri)
    ? `${uri.slice(0, appScheme.length)}${place}/${uri.slice(appScheme.length)}`
    : `${serverScheme}${place}/${uri}`
}

const serverUriPattern = /^(mcp|ui):\/\/([^/?#]+)\/([^/?#]+)\/(.*)$/is

/** Finds the resource for a URI of {@link toServerUri}. */
export const parseServerUri = (uri: string, computers: Iterable<string>): ServerResource | undefined => {
  const [, scheme = "", label, name = "", rest = ""] = serverUriPattern.exec(uri) ?? []
  const computer = findComputer(computers, label)
  const server = decodeSegment(name)
  if (computer === undefined || server === undefined) return undefined
  return { computer, server, uri: scheme.toLowerCase() === "ui" ? `${scheme}://${rest}` : rest }
}
