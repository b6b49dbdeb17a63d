import { defineTool, FileField } from "a2c-smcp/tools"
import { Effect, Schema } from "effect"

/** Returns the name and the size of an uploaded file. */
export default defineTool({
  name: "file_analyzer",
  description: "分析上传文件的内容",
  params: Schema.Struct({
    file: FileField.annotate({ description: "要分析的文件" }),
    detail_level: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("basic"))).annotate({
      description: "分析详细程度: basic/detailed"
    })
  }),
  run: ({ detail_level, file }) => `文件名: ${file.filename}\n大小: ${file.size} 字节\n详细程度: ${detail_level}`
})
