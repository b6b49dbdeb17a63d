import { Layer } from "effect"
import * as JsonSchemaValidator from "../../adapters/jsonSchema/JsonSchemaValidator.ts"
import * as TcpListener from "../../adapters/tcp/TcpListener.ts"
import { DeviceGateway } from "../../application/devices/gateway/DeviceGateway.ts"
import type { DeviceGatewayOptions } from "../../application/devices/DeviceGatewayOptions.ts"
import type { ListenError } from "../../application/ports/Transport.ts"

/** A gateway on TCP that publishes its devices as MCP tools. */
export const gatewayLayer = (options: DeviceGatewayOptions): Layer.Layer<DeviceGateway, ListenError> =>
  DeviceGateway.layer(options).pipe(Layer.provide(TcpListener.layer), Layer.provide(JsonSchemaValidator.layer))
