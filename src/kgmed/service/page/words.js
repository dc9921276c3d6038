// The words of the page in English and Chinese. A word is [English, Chinese]; {n} in it is a number or a name to fill in.

/** @type {Record<string, [string, string]>} */
export const WORDS = {
  // the frame
  skip: ["Skip to the content", "跳到正文"],
  views: ["Views", "页面"],
  ask: ["Ask", "提问"],
  diagnose: ["Diagnose", "鉴别诊断"],
  graph: ["Graph", "图谱"],
  compare: ["Compare", "对比"],
  reports: ["Reports", "报告"],
  graphs: ["My graphs", "我的图谱"],
  language: ["中文", "English"],
  languageLabel: ["切换到中文", "Switch to English"],
  theme: ["Light or dark", "浅色或深色"],
  themeAuto: ["Auto", "自动"],
  themeLight: ["Light", "浅色"],
  themeDark: ["Dark", "深色"],
  notAdvice: ["Not medical advice.", "不构成医疗建议。"],
  noticeLong: [
    "Read from knowledge graphs, which are incomplete and may be wrong. Speak with a doctor before you act on it.",
    "内容取自知识图谱，可能不全或有误；据此行动前请咨询医生。",
  ],
  release: ["Graph", "图谱版本"],
  noGraphs: ["no graph is installed yet", "尚未安装图谱"],
  loading: ["Loading…", "加载中…"],
  starting: ["The server is opening its graphs…", "服务正在打开图谱…"],
  joining: ["Joining the graphs into one, which is done once: {n} rows so far. You can ask already.", "正在合并图谱（仅此一次），已处理 {n} 行。现在即可提问。"],
  retry: ["Try again", "重试"],
  copy: ["Copy", "复制"],
  copied: ["Copied", "已复制"],
  copyLink: ["Copy link", "复制链接"],
  print: ["Print", "打印"],
  close: ["Close", "关闭"],
  more: ["{n} more", "还有 {n} 项"],
  moreFacts: ["{n} more facts", "还有 {n} 条事实"],
  fewer: ["Show fewer", "收起"],
  nothingThere: ["No such page.", "没有这个页面。"],
  backToAsk: ["Ask a question", "去提问"],
  // what goes wrong
  problem: ["This did not work", "未能完成"],
  offline: ["The server does not answer. Is kgmed serve still running?", "服务没有响应。kgmed serve 还在运行吗？"],
  busy: ["The server is busy. Try again in {n} seconds.", "服务繁忙，请在 {n} 秒后重试。"],
  keyTitle: ["This server asks for a key", "此服务需要密钥"],
  keyHelp: [
    "Whoever runs the server makes keys with: kgmed serve keys. The key stays in this tab and is gone when you close it.",
    "密钥由服务的管理者用 kgmed serve keys 生成。密钥只保存在此标签页，关闭即清除。",
  ],
  key: ["Key", "密钥"],
  useKey: ["Use this key", "使用此密钥"],
  // ask
  askTitle: ["Ask a medical question", "提出一个医学问题"],
  askLead: [
    "The answer comes from the knowledge graphs on this machine, with the evidence behind it.",
    "答案来自本机的知识图谱，并列出其依据的每一条事实。",
  ],
  question: ["Question", "问题"],
  askButton: ["Ask", "提问"],
  stop: ["Stop", "停止"],
  stopped: ["Stopped. Nothing was kept.", "已停止，未保留任何内容。"],
  filledIn: ["The question came with the link. Press Ask to send it.", "问题来自链接，按“提问”后才会发送。"],
  examples: ["For example", "例如"],
  follow: ["Ask a follow-up", "接着这个回答继续问"],
  followHint: ["for example: and in pregnancy?", "例如：孕妇呢？"],
  followButton: ["Send", "发送"],
  conversation: ["This conversation", "本次对话"],
  history: ["Your questions", "您的提问"],
  historySearch: ["Search your questions", "搜索您的提问"],
  historyNone: ["None of your questions has these words.", "没有含这些词的提问。"],
  historySave: ["Save all", "全部保存"],
  historyClear: ["Delete all", "全部删除"],
  historyHere: ["Kept in this browser alone.", "仅保存在此浏览器中。"],
  serviceHistory: ["Asked of this service", "此服务的提问"],
  serviceSearch: ["Search what was asked of the service", "搜索此服务的提问"],
  serviceSave: ["Save all that is listed", "保存列表全部"],
  serviceHere: ["From every browser, program and terminal of this machine; the same as kgmed log.", "来自本机所有浏览器、程序和终端，与 kgmed log 相同。"],
  historyInTab: ["Kept until this tab is closed.", "关闭此标签页即清除。"],
  turns: ["{n} questions", "{n} 个问题"],
  rename: ["Rename", "重命名"],
  forget: ["Delete", "删除"],
  room: ["{n} characters", "{n} 字"],
  tooLong: ["{n} characters: too long, and nothing is cut off. Shorten it.", "{n} 字：过长。不会截断，请缩短。"],
  readAs: ["Understood", "理解为"],
  asks: ["Asks for", "询问"],
  negative: ["what not to take or do", "不宜"],
  takes: ["takes", "正在服用"],
  has: ["has", "患有"],
  allergicTo: ["allergic to", "过敏"],
  change: ["Change", "更改"],
  another: ["What does “{n}” mean?", "“{n}”指什么？"],
  chosenByYou: ["chosen by you", "由您选定"],
  copyAnswer: ["Copy answer", "复制回答"],
  copyMarkdown: ["Copy as Markdown", "复制为 Markdown"],
  saveAs: ["Save as", "保存为"],
  options: ["Options", "选项"],
  method: ["Method", "方法"],
  methodAuto: ["Chosen by the server", "由服务选择"],
  model: ["Model", "模型"],
  noModel: ["No language model: the answer is read from the graph. With one: kgmed serve --llm NAME", "未配置语言模型：回答直接取自图谱。如需模型：kgmed serve --llm NAME"],
  alone: ["The model alone", "仅模型作答"],
  aloneWhy: ["What the same model says without the graph, unchecked, to compare.", "同一模型不查图谱的回答，未经核对，仅供对比。"],
  askAlone: ["Ask the model alone", "仅询问模型"],
  whichGraph: ["Graph", "图谱"],
  allGraphs: ["All installed graphs", "全部已装图谱"],
  working: ["Working", "正在处理"],
  answer: ["Answer", "回答"],
  abstained: ["No answer from the graph", "图谱中没有答案"],
  abstainedWhy: [
    "Rather than guess, nothing is said where the graph has no fact for it.",
    "图谱中没有依据时，宁可不答，也不猜测。",
  ],
  found: ["Found", "已识别"],
  notFound: ["Not in the graph", "图谱中没有"],
  didYouMean: ["Did you mean", "是否要找"],
  alsoPossible: ["or", "或"],
  denied: ["absent", "否认"],
  past: ["past", "既往"],
  uncertain: ["uncertain", "不确定"],
  otherPerson: ["another person", "他人"],
  evidence: ["Evidence", "依据"],
  asList: ["List", "列表"],
  asPicture: ["Picture", "图示"],
  asTable: ["Table", "表格"],
  asGraph: ["Explore", "探索"],
  findInDrawing: ["Find in the drawing", "在图中查找"],
  zoomIn: ["Zoom in", "放大"],
  zoomOut: ["Zoom out", "缩小"],
  fit: ["Fit", "适合窗口"],
  savePng: ["Save as PNG", "保存为 PNG"],
  saveSvg: ["Save as SVG", "保存为 SVG"],
  drawing: ["Drawing of {n} things and how they are related", "{n} 个事物及其关系图"],
  thingsDrawn: ["Things in the drawing ({n}); choosing one adds what is known of it", "图中的事物（{n}）；选择即展开"],
  exploreHelp: ["Drag to move, scroll to zoom, click a thing to add what is known of it.", "拖动可移动，滚动可缩放，点击事物可展开其已知事实。"],
  howShown: ["How the evidence is shown", "依据的呈现方式"],
  citation: ["Evidence {n}", "依据 {n}"],
  leftOut: ["and {n} more in the graph", "图谱中还有 {n} 项"],
  citedHere: ["cited in the answer", "回答中引用"],
  notCited: ["not cited", "未引用"],
  facts: ["{n} facts", "{n} 条事实"],
  choice: ["Choice", "选择"],
  candidates: ["All {n} candidates, best first", "全部 {n} 个候选（按可能性）"],
  verdicts: ["Checked sentence by sentence", "逐句核对"],
  supported: ["supported", "有依据"],
  unsupported: ["the model's own", "模型自述"],
  neutral: ["nothing to check", "无需核对"],
  contradicted: ["disputed by the evidence", "与依据矛盾"],
  reasoning: ["The model's reasoning", "模型的推理"],
  how: ["How it was made", "生成过程"],
  stage: ["Stage", "步骤"],
  seconds: ["Seconds", "秒"],
  tokens: ["Tokens", "词元"],
  calls: ["Model calls", "模型调用"],
  settings: ["Settings", "设置"],
  models: ["Models", "模型"],
  prompts: ["Prompts (name, language, hash)", "提示词（名称、语言、哈希）"],
  readBy: ["Read by", "由谁作答"],
  spent: ["Spent on models", "模型开销"],
  notes: ["Left out on the way", "途中省略"],
  failures: ["What went wrong on the way", "途中出错"],
  runId: ["Run", "运行编号"],
  nothing: ["none", "无"],
  particulars: ["Also read", "还读到"],
  // evidence picture and table
  picture: ["Picture of the evidence", "依据图示"],
  linesHidden: [
    "{n} more links between the boxes: choose a box or a citation to see its own.",
    "方框之间还有 {n} 条连线：选择方框或引用即可显示。",
  ],
  pictureHelp: [
    "Arrow keys move between the boxes, Enter opens the facts of a box.",
    "方向键在方框间移动，回车查看该方框的事实。",
  ],
  from: ["From", "起点"],
  relation: ["Relation", "关系"],
  to: ["To", "终点"],
  howOften: ["How often", "频率"],
  source: ["Source and release", "来源与版本"],
  sourceShort: ["Source", "来源"],
  licence: ["Licence", "许可"],
  references: ["References", "文献"],
  said: ["Said there", "原文说明"],
  original: ["In the graph", "图谱原文"],
  number: ["No.", "编号"],
  expand: ["Show here what is known of it", "在此展开其已知事实"],
  openInGraph: ["Open in the graph", "在图谱中打开"],
  factsOf: ["Facts of {n}", "{n} 的事实"],
  noPicture: ["This evidence is text, there is nothing to draw.", "该依据为文本，无法绘图。"],
  licenceUnknown: ["not stated", "未注明"],
  // diagnose
  diagnoseTitle: ["Which diseases fit these findings?", "哪些疾病符合这些表现？"],
  diagnoseLead: [
    "Diseases of the Human Phenotype Ontology, ranked by a patient's findings, with what speaks for and against each. Made for rare genetic disease.",
    "按患者表现对人类表型本体（HPO）中的疾病排序，并说明每种疾病的支持与反对依据。适用于罕见遗传病。",
  ],
  diagnoseLimits: [
    "A list of diseases to think of, not a diagnosis: it ranks only what {n} describes, from the findings given, and has been measured on published cases of rare genetic disease only; common diseases are not in it.",
    "这是供参考的疾病列表，不是诊断：只按所给表现对 {n} 中的疾病排序，且仅在已发表的罕见遗传病病例上测试过；不含常见病。",
  ],
  addFinding: ["Add a finding", "添加表现"],
  addFindingHint: ["arachnodactyly, or HP:0001166", "蜘蛛指，或 HP:0001166"],
  present: ["present", "有"],
  absent: ["absent", "无"],
  makeAbsent: ["{n}: present. Change to absent", "{n}：有。改为无"],
  makePresent: ["{n}: absent. Change to present", "{n}：无。改为有"],
  remove: ["Remove {n}", "移除 {n}"],
  define: ["What is {n}?", "什么是 {n}？"],
  findings: ["Findings", "表现"],
  noFindings: ["No finding yet. Type one above, or paste a description.", "还没有表现。在上方输入，或粘贴描述。"],
  needPresent: ["Add at least one finding that is present.", "请至少添加一个“有”的表现。"],
  noDefinition: ["The graph has no definition of it.", "图谱中没有定义。"],
  paste: ["Or paste a description", "或粘贴病情描述"],
  pasteHint: [
    "Tall boy of 12 with long fingers and a dislocated lens. No hearing loss.",
    "Tall boy of 12 with long fingers and a dislocated lens. No hearing loss.",
  ],
  readText: ["Find the findings in it", "识别其中的表现"],
  readNone: ["No finding was recognised in the text.", "未在文本中识别出表现。"],
  readSome: ["{n} findings were read. Check them before you rank.", "识别出 {n} 个表现，排序前请核对。"],
  patient: ["Patient", "患者"],
  sex: ["Sex", "性别"],
  sexAny: ["not said", "未说明"],
  female: ["female", "女"],
  male: ["male", "男"],
  age: ["Age", "年龄"],
  ageHint: ["12, 18m or P4Y6M", "12、18m 或 P4Y6M"],
  onset: ["Onset", "起病"],
  onsetHint: ["age or HPO id", "年龄或 HPO 编号"],
  database: ["Diseases of", "疾病来自"],
  everyDatabase: ["all databases", "全部数据库"],
  rank: ["Rank diseases", "疾病排序"],
  ranking: ["Ranking", "排序结果"],
  rankingNone: ["No disease fits: none of the findings that are present is known.", "没有符合的疾病：现有表现都不在图谱中。"],
  both: ["Likelier than any alone: both of {n}", "比任何一种单独患病更可能：同时患 {n}"],
  stale: ["The findings have changed since this ranking.", "表现已更改，排序结果尚未更新。"],
  score: ["Score", "得分"],
  scoreHelp: ["One more on the score is e (2.7) times as likely.", "得分每高 1，可能性为 e（2.7）倍。"],
  speaksFor: ["For", "支持"],
  speaksAgainst: ["Against", "反对"],
  expected: ["Expected, not mentioned", "应有而未提及"],
  missing: ["Not listed for it", "该病未列出"],
  exact: ["has it", "有此表现"],
  narrower: ["has a kind of it", "有其下位表现"],
  twin: ["has it in another database's entry", "另一数据库条目中有"],
  broader: ["has something near", "有相近表现"],
  agrees: ["does not have it either", "该病同样没有"],
  unlisted: ["not listed", "未列出"],
  deniedBy: ["this disease is said not to have it", "该病明确没有"],
  excluded: ["absent here, but part of the disease", "此处无，但属该病"],
  sexAgainst: ["the patient's sex", "患者性别不符"],
  onsetAgainst: ["the age of onset", "起病年龄不符"],
  fitCount: ["{n} fit", "{n} 项符合"],
  nearCount: ["{n} near", "{n} 项相近"],
  againstCount: ["{n} against", "{n} 项反对"],
  unlistedCount: ["{n} not listed", "{n} 项未列出"],
  addPresent: ["Add {n} as present", "将 {n} 添加为“有”"],
  addAbsent: ["Add {n} as absent", "将 {n} 添加为“无”"],
  details: ["Reasons", "依据"],
  sideBySide: ["Side by side", "并排比较"],
  pickTwo: ["Choose two diseases to see them side by side.", "选择两种疾病进行并排比较。"],
  pick: ["Compare {n}", "比较 {n}"],
  pickShort: ["Compare", "比较"],
  finding: ["Finding", "表现"],
  ofPatient: ["Findings of the patient", "患者的表现"],
  tellsApart: ["What else each leads one to expect, most frequent first", "各自还应有的表现（按频率）"],
  listed: ["listed", "有列出"],
  phenopacketIn: ["Open a phenopacket", "打开 Phenopacket"],
  phenopacketOut: ["Save as phenopacket", "保存为 Phenopacket"],
  phenopacketBad: ["{n} is no phenopacket with phenotypicFeatures.", "{n} 不是含有 phenotypicFeatures 的 Phenopacket。"],
  unknownIds: ["Not in the graph, counts for nothing", "不在图谱中，不计入"],
  clear: ["Clear all", "全部清除"],
  noHpo: [
    "This needs the graph of HPO. It is built with: kgmed graph build hpo",
    "需要 HPO 图谱，可用 kgmed graph build hpo 构建",
  ],
  linkHasPatient: ["The link holds the findings; it is filled in, never sent.", "链接中含有表现；打开后只填入，不发送。"],
  // graph
  graphTitle: ["Look things up in the graph", "查阅图谱"],
  searchThing: ["Disease, finding, drug, gene…", "疾病、表现、药物、基因…"],
  search: ["Search", "搜索"],
  noMatch: ["Nothing of that name", "没有这个名称"],
  similar: ["Similar names", "相近名称"],
  also: ["Also called", "又称"],
  neighbours: ["What is known of it", "已知事实"],
  noNeighbours: ["Nothing is stated of it.", "没有关于它的事实。"],
  fact: ["Source of this fact", "此事实的来源"],
  pathTo: ["Paths to", "通往"],
  paths: ["Paths", "路径"],
  noPaths: ["No path of at most {n} steps.", "在 {n} 步内没有路径。"],
  pathCount: ["{n} paths", "{n} 条路径"],
  whichOne: ["Which one?", "是哪一个？"],
  // compare
  compareTitle: ["One question, several methods", "一个问题，多种方法"],
  compareLead: [
    "The same question through each method, side by side, with its evidence and its cost.",
    "同一问题用多种方法并排作答，并列出各自的依据与耗时。",
  ],
  methods: ["Methods", "方法"],
  needModel: ["With a language model (kgmed serve --llm) also: {n}", "配置语言模型（kgmed serve --llm）后还有：{n}"],
  compareButton: ["Compare", "对比"],
  citedCount: ["{n} cited", "引用 {n} 条"],
  openRun: ["Open with its evidence", "连同依据打开"],
  pickMethods: ["Choose at least one method.", "请至少选择一种方法。"],
  failed: ["failed", "失败"],
  // reports
  docs: ["REST interface", "REST 接口"],
  docsLead: ["Every request that this service answers, as described in", "本服务响应的全部请求，机器可读的描述见"],
  parameters: ["Parameters", "参数"],
  responses: ["Responses", "响应"],
  required: ["required", "必填"],
  reportsTitle: ["Evaluations kept on this machine", "本机保存的评测"],
  reportsNone: ["No evaluation was kept yet.", "还没有保存的评测。"],
  openReport: ["Open", "打开"],
  saveReport: ["Save", "保存"],
  reportsMake: ["A finished evaluation is shown here by:", "用以下命令在此显示评测结果："],
  // my graphs
  graphsTitle: ["Graphs on this machine", "本机图谱"],
  graphsLead: [
    "Every fact of an answer comes from one of these. They are files on this machine; nothing is sent anywhere.",
    "回答中的每条事实都来自这些图谱。它们是本机文件，不会向外发送任何内容。",
  ],
  entities: ["Entities", "实体"],
  triples: ["Facts", "事实"],
  size: ["Size", "大小"],
  languages: ["Languages", "语言"],
  cite: ["Cite", "引用"],
  knows: ["What it knows", "包含内容"],
  getMore: ["How to get more", "如何获取更多"],
  getMoreLead: ["Press the button to get one. It can be asked as soon as it is here.", "点击按钮即可获取，完成后即可提问。"],
  getMoreRun: ["Run the command on the server's machine, then start the server again.", "请在服务器上运行命令，然后重新启动服务。"],
  getIt: ["Get it", "获取"],
  fetching: ["Fetching", "正在下载"],
  building: ["Building, rows so far:", "正在构建，已处理行数："],
  preparing: ["Preparing its names", "正在准备名称索引"],
  joined: ["The graph {n} is here, and is asked with the others.", "图谱 {n} 已就绪，将与其他图谱一起查询。"],
  askIt: ["Ask a question", "去提问"],
  serveAgain: ["It is here. Start the server again to ask it.", "已获取。重新启动服务后即可查询。"],
  getByHand: ["Without a network, from a file that was fetched elsewhere:", "没有网络时，可用在别处下载的文件："],
  ownTitle: ["A graph of your own", "您自己的图谱"],
  ownLead: ["Choose a file of up to 64 MB: a table, JSON, RDF, OBO or GraphML. You see what was understood before anything is built; it stays on this machine.", "选择不超过 64 MB 的文件：表格、JSON、RDF、OBO 或 GraphML。构建前会先显示识别结果；文件只留在本机。"],
  ownName: ["Its name (a-z, 0-9, -)", "名称（a-z、0-9、-）"],
  ownFile: ["Choose a file", "选择文件"],
  ownSeen: ["What was understood", "识别结果"],
  ownAll: ["All {n} facts", "全部 {n} 条事实"],
  ownFirst: ["The first {n} facts", "前 {n} 条事实"],
  ownKinds: ["Kinds", "类别"],
  ownRelations: ["Relations", "关系"],
  ownColumns: ["What the columns mean; correct it where it is wrong", "各列含义，如有误请修改"],
  ownAgain: ["Look again", "重新识别"],
  ownBuild: ["Build it", "构建"],
  yours: ["Your own triples, from a CSV, RDF, OBO or UMLS file", "您自己的三元组（CSV、RDF、OBO 或 UMLS 文件）"],
};

/** What a role is called, seen from its subject and from its object: [English, English back, Chinese, Chinese back]. */
const ROLES = {
  finding: ["Findings", "Finding of", "表现", "见于"],
  excludes: ["Does not have", "Absent in", "没有的表现", "不见于"],
  treats: ["Treats", "Treated by", "用于治疗", "治疗药物与方法"],
  contraindicated: ["Must not be used in", "Must not take", "禁忌", "禁用"],
  adverse: ["Adverse effects", "Adverse effect of", "不良反应", "是其不良反应"],
  interacts: ["Interacts with", "Interacts with", "相互作用", "相互作用"],
  precaution: ["Precautions", "Caution with", "注意事项", "慎用"],
  dosage: ["Dosage", "Dosage of", "用法用量", "是其用法"],
  ingredient: ["Ingredients", "Contained in", "成分", "含于"],
  tests: ["Shows", "Tests", "可检出", "检查"],
  cause: ["Causes", "Cause of", "病因", "导致"],
  risk: ["Risk factors", "Risk for", "危险因素", "增加风险"],
  complication: ["Complications", "Complication of", "并发症", "并发于"],
  prevention: ["Prevention", "Prevents", "预防", "可预防"],
  location: ["Where", "Diseases there", "部位", "该部位的疾病"],
  gene: ["Genes", "Gene of", "基因", "相关疾病"],
  inheritance: ["Inheritance", "Inherited so", "遗传方式", "如此遗传的疾病"],
  onset: ["Onset and course", "Begins so", "起病与病程", "如此起病的疾病"],
  care: ["Department", "Treats there", "就诊科室", "该科疾病"],
  food: ["Good to eat", "Good for", "宜食", "适宜"],
  avoid: ["To avoid", "To avoid in", "忌", "忌用于"],
  differential: ["To tell from", "To tell from", "鉴别", "鉴别"],
  associated: ["Goes with", "Goes with", "相关", "相关"],
  is_a: ["Is a kind of", "Kinds of it", "属于", "下位概念"],
  same_as: ["Same as", "Same as", "等同", "等同"],
  other: ["Other", "Other", "其他", "其他"],
};

const STAGES = {
  expand: ["reading the question", "读题"],
  recognize: ["recognising terms", "识别术语"],
  link: ["finding them in the graph", "链接图谱"],
  understand: ["understanding", "理解"],
  retrieve: ["collecting facts", "检索事实"],
  rank: ["ranking", "排序"],
  phrase: ["writing the evidence", "组织依据"],
  read: ["answering", "作答"],
  check: ["checking", "核对"],
};

/** What a question can ask for, as `kgmed.frame.Intent` has it. */
const INTENTS = {
  treatment: ["treatment", "治疗"], uses: ["what it is for", "用途"], symptoms: ["symptoms", "症状"], causes: ["causes", "病因"],
  risk_factors: ["risk factors", "危险因素"], complications: ["complications", "并发症"], prevention: ["prevention", "预防"],
  tests: ["tests", "检查"], diagnosis: ["which illness it may be", "可能是什么病"], genes: ["genes", "基因"],
  inheritance: ["inheritance", "遗传"], department: ["which doctor to see", "就诊科室"], diet: ["diet", "饮食"],
  side_effects: ["side effects", "不良反应"], drug_causes: ["medicines that cause it", "可引起它的药物"],
  contraindications: ["who must not take it", "禁忌"], interactions: ["interactions", "相互作用"],
  safety: ["whether it is safe", "是否安全"], dosage: ["dose", "用量"], dose_change: ["missed or changed dose", "漏服与换药"],
  overdose: ["overdose", "过量"], drug_class: ["class of medicine", "药物类别"], overview: ["what it is", "概述"],
  comparison: ["comparison", "比较"], helps: ["whether it helps", "是否有效"], relation: ["how two things are related", "两者关系"],
  test_preparation: ["preparation for a test", "检查前准备"], test_meaning: ["meaning of a result", "结果含义"],
  prognosis: ["prognosis", "预后"], duration: ["duration", "病程"], frequency: ["how common it is", "发病率"],
  contagion: ["whether it is contagious", "是否传染"], onset: ["onset", "起病"], location: ["where in the body", "部位"],
  types: ["types", "类型"], mechanism: ["mechanism", "机制"], ingredients: ["ingredients", "成分"], storage: ["storage", "储存"],
  self_care: ["self-care", "自我护理"], names: ["names and codes", "名称与代码"], price: ["price", "价格"],
  provider: ["where to go or buy", "医院与购买"], other: ["something else", "其他"],
};
export const INTENT_ORDER = Object.keys(INTENTS);
export const intentName = (name) => (INTENTS[name] ? INTENTS[name][language === "zh" ? 1 : 0] : name);

export const LANGUAGES = ["en", "zh"];
let language = "en";

/** The language of the page: that of the last visit, else the browser's. */
export function startLanguage() {
  const kept = recall("kgmed-language");
  language = LANGUAGES.includes(kept) ? kept : (navigator.language || "").toLowerCase().startsWith("zh") ? "zh" : "en";
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  return language;
}

export function setLanguage(to) {
  language = to;
  keep("kgmed-language", to);
  document.documentElement.lang = to === "zh" ? "zh-CN" : "en";
}

export const currentLanguage = () => language;

/** What was kept of the visitor's taste; never a question. Nothing where the browser keeps nothing. */
export function recall(name) {
  try {
    return localStorage.getItem(name) || "";
  } catch {
    return "";
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // a browser that keeps nothing shows the page all the same
  }
}

/** The word of a key, `{n}` filled in. */
export function t(key, n) {
  const word = WORDS[key];
  if (!word) throw new Error(`no word for ${key}`);
  return word[language === "zh" ? 1 : 0].replace("{n}", n === undefined ? "" : String(n));
}

/** What a role is called, seen from its subject, or from its object (`back`). */
export function roleName(role, back) {
  const names = ROLES[role] || ROLES.other;
  return names[(language === "zh" ? 2 : 0) + (back ? 1 : 0)];
}

export const ROLE_ORDER = Object.keys(ROLES);
export const SAFETY = ["contraindicated", "excludes", "avoid"];

export const stageName = (name) => (STAGES[name] ? STAGES[name][language === "zh" ? 1 : 0] : name);

/** A language by its code, in the language of the page. */
export function languageName(code) {
  try {
    return new Intl.DisplayNames([language === "zh" ? "zh-CN" : "en"], { type: "language" }).of(code) || code;
  } catch {
    return code;
  }
}

/** A number as the language writes it. */
export const number = (n) => new Intl.NumberFormat(language === "zh" ? "zh-CN" : "en").format(n);

/** So many bytes in words. */
export function bytes(n) {
  if (!(n >= 0)) return "";
  const at = n >= 1e9 ? 3 : n >= 1e6 ? 2 : n >= 1e3 ? 1 : 0;
  return `${number(Number((n / 1000 ** at).toFixed(at > 1 ? 1 : 0)))} ${["B", "kB", "MB", "GB"][at]}`;
}
