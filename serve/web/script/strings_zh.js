languages.zh = {
  // frame
  skipToInput: "跳到输入框", conversations: "对话", closeSidebar: "隐藏对话列表", openSidebar: "显示对话列表", newChat: "新对话",
  searchChats: "搜索对话", serverStatus: "服务器状态", shortcuts: "键盘快捷键", model: "模型", settings: "设置", close: "关闭",
  cancel: "取消", delete: "删除", emptyTitle: "想聊点什么？", emptyText: "回答在这台服务器上计算，对话保存在这个浏览器里。",
  jumpToLatest: "最新", message: "消息", messagePlaceholder: "输入消息", send: "发送", stop: "停止", contextUse: "已用上下文",
  // list of chats
  today: "今天", lastWeek: "最近 7 天", older: "更早", noChats: "还没有对话。", noMatches: "没有找到。", untitled: "无标题",
  renameChat: "重命名“{title}”", deleteChat: "删除“{title}”", name: "名称", confirmDelete: "删除“{title}”？此操作无法撤销。",
  confirmDeleteAll: "删除此浏览器中的所有对话？此操作无法撤销。",
  // messages
  you: "你", assistant: "助手", system: "系统", toolResult: "工具结果", thinking: "思考中…", thought: "思考过程",
  called: "调用 {name}", resultOf: "{name} 的结果", sendResults: "发送结果", copy: "复制", copied: "已复制", copyCode: "复制代码",
  table: "表格", done: "已完成", notDone: "未完成", edit: "编辑", regenerate: "重新回答", continueAnswer: "继续回答",
  versions: "版本", previousVersion: "上一个版本", nextVersion: "下一个版本", save: "保存", saveAndSend: "保存并发送",
  tryAgain: "重试", stopped: "已停止", answerComplete: "回答完毕", tokensPerSecond: "{rate} 词元/秒", firstToken: "{seconds} 秒后出现首个词元",
  tokens: "{count} 个词元", lengthReached: "已达词元上限", contextOf: "已用 {used} / {context} 个词元",
  // errors
  errorParam: "参数：{param}", retryAfter: "请在 {seconds} 秒后重试。", enterKey: "输入 API 密钥", keyNeeded: "此服务器需要 API 密钥。",
  noModels: "无法列出模型：{reason}", unreachable: "无法连接服务器。", httpError: "服务器返回状态 {status}。",
  badStream: "服务器发送的内容不是 JSON。", streamCut: "回答完成前连接已断开。", badJson: "{name}：不是有效的 JSON（{reason}）。",
  noStorage: "此浏览器不允许存储：关闭页面后对话会丢失。", storageFull: "此浏览器的存储空间已满。请导出或删除对话。",
  storageFailed: "无法保存对话。",
  // settings
  thisChat: "本对话", systemPrompt: "系统提示词", default: "默认", temperature: "温度", top_p: "Top-p", top_k: "Top-k", min_p: "Min-p",
  repeat_penalty: "重复惩罚", max_tokens: "最大词元数", seed: "随机种子", stopStrings: "停止文本", stopHelp: "每行一个；\\n 表示换行。",
  structure: "结构", useSchema: "用 JSON 回答", schema: "JSON 模式", schemaHelp: "回答符合此模式。", useTools: "提供工具",
  tools: "工具", toolsHelp: "OpenAI 格式的函数数组，结果由你输入。", connection: "连接", apiKey: "API 密钥",
  apiKeyHelp: "仅发送给此服务器，关闭标签页后即忘记。", keepKey: "在此浏览器中记住密钥", appearance: "外观", theme: "主题",
  auto: "自动", light: "浅色", dark: "深色", data: "数据", exportJson: "导出为 JSON", exportMarkdown: "导出为 Markdown",
  exportAll: "导出所有对话", importFile: "导入", deleteAll: "删除所有对话", imported: "已导入对话：{count}",
  importFailed: "导入失败。{reason}", importNotJson: "文件不是 JSON：{reason}", importEmpty: "文件中没有对话。",
  importNoMessages: "{place} 必须是消息数组。", importBadRole: "{place}.role 必须是 system、user、assistant 或 tool。",
  importTooLarge: "文件大于 64 MB。",
  // shortcuts
  newLine: "换行", editLast: "编辑上一条消息（输入框为空时）", toggleSidebar: "显示或隐藏对话列表", previousNextChat: "上一个或下一个对话",
  copyAnswer: "复制最后的回答",
  // status page
  statusTitle: "服务器状态", backToChat: "对话", pause: "暂停", resume: "继续", paused: "已暂停", connecting: "正在连接…",
  updatedAt: "更新于 {time}", uptime: "运行时间", version: "版本", memory: "内存", cpu: "CPU", running: "运行中", waiting: "等待中",
  generated: "生成", promptTokens: "提示词", tokensRate: "每秒词元数", requests: "请求", firstTokenShort: "首个词元",
  betweenTokens: "词元间隔", kvCache: "KV 缓存", used: "已用", cached: "前缀缓存", cacheHits: "缓存命中", models: "模型", state: "状态",
  open: "已加载", closed: "未加载", kvBlocks: "KV 块", answers: "回答", refused: "拒绝", noMetrics: "服务器不提供 /metrics。",
  median: "中位数", slowest: "第 99 百分位", cores: "{value} 核", seconds: "{value} 秒", milliseconds: "{value} 毫秒", now: "现在",
  ago: "{seconds} 秒前",
};
