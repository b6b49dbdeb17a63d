/**
 * Imported first by the entry points: npm enforces the peer dependency on effect, other installers only warn, and other
 * versions fail at random places. Two copies of effect with supported versions work together.
 */
import { Version } from "effect"

const found = Version.getCurrentVersion()
const [major = 0, minor = 0] = found.split(".").map(Number)
if (major !== 4 || minor < 1) {
  throw new Error(`a2c-smcp: effect 4.1 or a later 4.x is required, this is ${found}: npm install effect@4`)
}
