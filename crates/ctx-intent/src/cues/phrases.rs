//! The phrases behind each cue, languages in a row: English, German, French, Spanish, Russian, Chinese, Japanese, Korean.
//!
//! Data, not rules. Lower case, `|` between phrases; ideographs are written with blanks between them where the words of a
//! goal are cut so (hangul, kana and Han: one token each).

use super::Cue;

/// Phrases by cue.
pub(super) const PHRASES: &[(Cue, &str)] = &[
    (
        Cue::Count,
        "how many|how much|number of|count|count of|counts|total|total number|in total|sum|sum of|average|mean|\
         median|avg|percentage|percent|percentage of|ratio|proportion|share of|combined|altogether|wie viele|\
         wieviele|wie oft|anzahl|durchschnitt|summe|insgesamt|combien|nombre de|moyenne|somme|total de|cuántos|\
         cuántas|cuantos|cuantas|número de|promedio|suma|сколько|количество|число|среднее|сумма|всего|多 少|几 个|总 数|\
         平 均|数 量|いくつ|何 個|何 件|何 人|合 計|몇 개|몇|평 균|합 계|how often|most|least|maximum|minimum|max|min|highest|lowest|\
         longest|shortest|largest|smallest|how long|fewest",
    ),
    (
        Cue::Exhaustive,
        "all|every|each|entire|whole|complete|throughout|across all|everything|exhaustive|alle|jede|jeder|jedes|\
         ganze|gesamte|tous|toutes|chaque|entier|todos|todas|cada|entero|все|всех|каждый|каждого|весь|所 有|全 部|每 个|\
         全 て|すべて|모 든|전 체",
    ),
    (
        Cue::Compare,
        "compare|compared|comparison|versus|vs|difference between|differences between|differ|differs|better than|\
         worse than|faster than|slower than|larger than|more than|less than|higher than|older than|rather than|\
         instead of|relative to|trade-off|trade-offs|tradeoff|pros and cons|which is better|vergleiche|vergleich|\
         unterschied zwischen|unterschied|unterschiede|gegenüber|besser als|comparer|comparez|différence entre|\
         différences entre|par rapport|mieux que|comparar|compara|diferencia entre|diferencias entre|mejor que|\
         сравни|сравните|сравнить|сравнение|разница между|отличие|отличается|чем отличается|по сравнению|лучше чем|\
         比 较|对 比|区 别|相 比|比 較|違 い|どちら|비 교|차 이",
    ),
    (
        Cue::Explain,
        "why|explain|how does|how do|how did|how is|how are|how was|how can|how could|describe|reason|reasons|\
         reason for|cause|causes|cause of|what causes|what caused|meaning of|what does|mechanism|purpose|effect of|\
         effects of|role of|warum|wieso|weshalb|erkläre|erklären|wie funktioniert|wie wird|wie werden|grund|ursache|\
         pourquoi|expliquer|explique|expliquez|comment fonctionne|comment|raison|por qué|porque|explica|explicar|\
         cómo funciona|cómo|causa|почему|зачем|объясни|объясните|объяснить|как работает|как|причина|为 什 么|为 何|解 释|\
         怎 么|如 何|原 因|なぜ|どうして|説 明|どのように|왜|설 명|어 떻 게|이 유",
    ),
    (
        Cue::HowTo,
        "how do i|how do you|how do we|how can i|how can we|how should i|how should we|how to|how would i|\
         what is the way to|what's the way to|steps to|way to|guide to|instructions for|instructions|procedure for|\
         wie kann ich|wie kann man|wie mache ich|wie lösche ich|wie|anleitung|comment puis-je|comment faire|\
         comment faire pour|comment on|cómo puedo|cómo se|cómo hago|как мне|как можно|как сделать|как удалить|怎 么|\
         如 何|怎 样|どうやって|方 法|やり方|어 떻 게|방 법|is it safe to|what happens if|what happens when|should i|should we|can i|\
         may i|do i need to",
    ),
    (
        Cue::List,
        "list|list all|enumerate|name all|name the|which ones|what are|what are the|who are|which files|what kinds|\
         what types|give me a list|show all|liste|auflisten|zähle auf|welche|lister|énumérer|quels|quelles|enumera|\
         listar|lista|cuáles|перечисли|перечислите|список|какие|列 出|列 举|有 哪 些|哪 些|一 覧|挙 げて|목 록|나 열|어 떤",
    ),
    (
        Cue::YesNo,
        "whether|is there|are there|is it|does it|do we|does the|is the|has the|have we|can the|is this|are these|\
         did the|was the|were the|will the|ist|sind|hat|gibt es|kann|können|darf|wird|est-ce que|est-ce|y a-t-il|\
         a-t-il|existe|hay|puede|es posible|есть ли|является ли|можно ли|ли|правда ли|是 否|吗|有 没 有|是 不 是|ますか|ですか|\
         か どうか|입 니 까|인 가 요|있 나 요",
    ),
    (
        Cue::Negation,
        "not|no|never|without|except|excluding|neither|nor|none|nothing|cannot|can't|don't|doesn't|didn't|isn't|\
         aren't|wasn't|weren't|won't|shouldn't|wouldn't|couldn't|hasn't|haven't|nobody|but not|other than|nicht|kein|\
         keine|keinen|keiner|ohne|außer|nie|niemals|ne|pas|sans|jamais|sauf|aucun|aucune|sin|nunca|excepto|ningún|\
         ninguna|tampoco|не|нет|без|кроме|никогда|ни|不|没|没 有|无|非|除 了|别|ない|なし|ません|以 外|않|없|안|말 고|제 외",
    ),
    (
        Cue::Table,
        "table|tables|row|rows|column|columns|csv|spreadsheet|parquet|per|group by|grouped by|order by|ordered by|\
         sorted by|top 3|top 5|top 10|top|rank|ranked|record|records|revenue|sales|price|customers|customer|orders|\
         salary|each month|each year|per month|per year|per day|by month|by year|by country|by region|by department|\
         last month|last quarter|quarter|score|scored|points|wins|season|tabelle|spalte|zeile|zeilen|umsatz|tableau|\
         colonne|ligne|lignes|ventes|tabla|columna|fila|filas|ventas|таблица|таблице|столбец|строк|строки|продажи|\
         выручка|表 格|列|行|销 售|按 月|売 上|表|테 이 블|매 출|sql|query|database|return the|return|distinct|descending order|\
         ascending order",
    ),
    (
        Cue::Log,
        "log|logs|logged|log line|log lines|logfile|log file|syslog|stack trace|stacktrace|traceback|exception|warn|\
         warning|fatal|debug|info|stderr|stdout|kernel|daemon|session opened|connection refused|connection reset|\
         timed out|timeout|error code|protokoll|logdatei|journal|registro|registros|лог|логи|логах|журнал|日 志|ログ|로 그|\
         uid|pid|failed password|exit code|segfault|core dump|retry|retries",
    ),
    (
        Cue::Incident,
        "error|errors|fail|fails|failed|failing|failure|crash|crashed|crashes|crashing|outage|down|broken|broke|\
         incident|alert|alerts|firing|page|paged|leak|leaks|leaked|hang|hangs|stuck|unavailable|not working|\
         doesn't work|degraded|root cause|oom|out of memory|unreachable|corrupt|corrupted|500|502|503|504|fehler|\
         ausfall|abgestürzt|kaputt|stürzt|panne|erreur|échec|échoué|plante|fallo|falló|caída|ошибка|ошибку|ошибки|\
         упал|падает|сбой|авария|错 误|故 障|崩 溃|失 败|报 错|エラー|障 害|失 敗|오 류|장 애|실 패",
    ),
    (
        Cue::Code,
        "function|functions|method|methods|class|classes|struct|structs|enum|trait|module|modules|crate|package|\
         variable|api|endpoint|implementation|implemented|implement|implements|compile|compiler|compiles|source code|\
         code|codebase|defined|definition|called|caller|callers|import|imports|test|tests|unit test|interface|\
         argument|parameter|refactor|library|bug|funktion|klasse|methode|quelltext|fonction|classe|méthode|función|\
         clase|método|функция|функции|класс|метод|код|函 数|类|方 法|代 码|关 数|関 数|クラス|コード|함 수|클 래 스|코 드|def|fn|impl|\
         return type|lines of code",
    ),
    (
        Cue::Git,
        "commit|commits|committed|blame|git|introduced|introduced by|regression|bisect|merged|merge|pull request|pr|\
         revert|reverted|branch|changelog|changed|change|changes|which change|who changed|when was|fix|fixed|fixes|\
         patch|diff|history of|author|rebase|cherry-pick|release notes|since version|geändert|eingeführt|modifié|\
         introduit|cambió|introdujo|коммит|коммите|изменил|изменение|提 交|引 入|修 改|コミット|変 更|커 밋|변 경",
    ),
    (
        Cue::Graph,
        "related to|connected to|connected with|linked to|relationship between|relation between|path between|\
         path from|neighbors of|neighbours of|knowledge graph|graph|depends on|dependencies of|starred|starred by|\
         starring|directed|directed by|director|directors|written by|acted|acted by|actor|actors|actress|\
         screenwriter|writer|writers|movie|movies|film|films|genre|genres|co-starred|ancestor|descendants|parent of|\
         child of|owned by|subsidiary of|reports to|manager of|verbunden|beziehung|relié|relacionado|связан|связаны|\
         关 系|关 联|関 係|관 계",
    ),
    (
        Cue::Metric,
        "metric|metrics|cpu|cpu usage|memory usage|disk usage|latency|p50|p90|p95|p99|throughput|qps|rps|\
         requests per second|time series|spike|spiked|utilization|utilisation|anomaly|anomalies|bandwidth|iops|\
         load average|uptime|slo|sli|gauge|dashboard|grafana|auslastung|latenz|latence|charge|latencia|uso de cpu|\
         задержка|загрузка|нагрузка|指 标|延 迟|使 用 率|レイテンシ|지 연|사 용 률",
    ),
    (
        Cue::Conversation,
        "meeting|meetings|discuss|discussed|discussion|discussing|said|say|says|mention|mentioned|told|talked|talk|\
         agreed|decided|decide|conclusion|opinion|think|thought|conversation|chat|transcript|call with|we talk|\
         did we|you said|earlier|previously|last time|remember|minutes|presentation|presenter|speaker|team|proposed|\
         suggested|besprochen|besprechung|gesagt|gespräch|réunion|discuté|dit|reunión|dijo|discutió|встреча|встрече|\
         обсуждали|сказал|разговор|会 议|讨 论|说|会 議|議 論|会 話|회 의|논 의|대 화",
    ),
    (
        Cue::Web,
        "website|web site|webpage|web page|page at|url|online|homepage|link|browse|blog|article at|docs site|\
         internet|webseite|site web|sitio web|página web|сайт|сайте|网 站|网 页|ウェブ|サイト|웹 사 이 트",
    ),
    (
        Cue::Service,
        "ticket|tickets|jira|issue tracker|calendar|crm|salesforce|slack|zendesk|servicenow|account balance|\
         my account|balance|inventory system|weather|api call|order status|subscription|booking|reservation|kalender|\
         calendrier|calendario|календарь|日 历|カレンダー|캘 린 더",
    ),
    (
        Cue::MultiHop,
        "whose|the one who|that was also|who also|which also|also|in which|of which|by the same|the same|same|both|\
         founded by the|born in|of the person who|of the company that|of the city where|where the|who directed the|\
         the author of the|the director of|the writer of|the capital of|the owner of|the creator of|the man who|\
         the woman who|the team that|the band that|the film that|the book that|the country where|represented|\
         known for|based on the|named after|dessen|deren|dont|cuyo|cuya|чей|чья|который также|которого|которой",
    ),
    (
        Cue::Summary,
        "summarize|summarise|summary|overview|outline|recap|synopsis|tl;dr|tldr|main points|key points|in general|\
         wrap up|digest|zusammenfassung|fasse zusammen|zusammenfassen|überblick|résume|résumer|résumé|aperçu|resume|\
         resumir|resumen|обзор|кратко|резюме|суммируй|подведи итог|总 结|概 述|概 括|摘 要|要 約|まとめて|概 要|요 약|개 요",
    ),
    (
        Cue::Fetch,
        "find|show|show me|give|give me|tell|tell me|look up|search|get|fetch|display|print|identify|locate|return|\
         check|verify|report|read|see|explain|describe|summarize|compare|list|count|calculate|compute|zeige|zeig|\
         finde|suche|gib|montre|montrez|trouve|cherche|donne|muestra|encuentra|busca|dame|dime|покажи|покажите|найди|\
         найдите|расскажи|дай|显 示|查 找|查 询|找 到|告 诉|見 せて|探 して|教 えて|보 여|찾 아|알 려",
    ),
    (
        Cue::Act,
        "create|make|add|update|set|change|move|rename|copy|restart|start|stop|run|execute|deploy|install|upgrade|\
         schedule|book|reserve|order|open|close|assign|enable|disable|configure|set up|turn on|turn off|switch|play|\
         call|remind|save|write|upload|download|push|commit|merge|apply|build|scale|backup|back up|restore|sync|\
         sign up|register|post|reply|invite|block|unblock|freeze|reset|redeem|share|text|rebuild|reindex|migrate|\
         rotate|fix|patch|erstelle|erstellen|starte|starten|stoppe|ändere|aktualisiere|installiere|buche|crée|créer|\
         créez|démarre|redémarre|modifie|installe|ajoute|réserve|crea|crear|reinicia|reiniciar|actualiza|cambia|\
         instala|añade|agrega|reserva|создай|создать|создайте|перезапусти|перезапустить|запусти|измени|обнови|добавь|\
         установи|创 建|重 启|更 新|启 动|停 止|添 加|安 装|部 署|作 成|再 起 動|追 加|実 行|起 動|생 성|재 시 작|업 데 이 트|추 가|실 행",
    ),
    (
        Cue::Destroy,
        "delete|remove|drop|purge|wipe|erase|truncate|destroy|terminate|kill|cancel|transfer|pay|send|email|publish|\
         overwrite|revoke|uninstall|shut down|shutdown|format|refund|force push|force-push|discard|clear|empty|evict|\
         deactivate|decommission|unsubscribe|fire|sell|buy|purchase|wire|withdraw|release|approve|sign|submit|\
         merge to main|drop table|rm|lösche|löschen|lösch|entferne|entfernen|vernichte|storniere|stornieren|\
         überweise|überweisen|sende|senden|schicke|kündige|kündigen|bezahle|supprime|supprimer|supprimez|efface|\
         effacer|effacez|détruis|détruire|annule|annuler|annulez|envoie|envoyer|envoyez|vire|elimina|eliminar|\
         elimine|borra|borrar|borre|cancela|cancelar|envía|enviar|transfiere|transferir|paga|удали|удалить|удалите|\
         сотри|стереть|сотрите|очисти|очистить|очистите|уничтожь|уничтожить|отмени|отменить|отмените|отправь|\
         отправить|отправьте|переведи|перевести|оплати|оплатить|删 除|删 掉|清 空|移 除|销 毁|取 消|发 送|转 账|付 款|削 除|消 去|消 して|破 棄|\
         取 り 消 し|送 信|キャンセル|送 金|삭 제|지 워|제 거|취 소|전 송|송 금|폐 기",
    ),
    (
        Cue::Polite,
        "please|pls|can you|could you|would you|will you|i want you to|i need you to|i'd like you to|\
         i would like you to|i want to|i need to|i'd like to|i would like to|go ahead and|let's|let us|bitte|\
         kannst du|können sie|könntest du|ich möchte|s'il te plaît|s'il vous plaît|peux-tu|pouvez-vous|pourriez-vous|\
         veuillez|je veux|je voudrais|por favor|puedes|podrías|puede usted|quiero|necesito|пожалуйста|можешь|можете|\
         не могли бы|мне нужно|хочу|请|帮 我|麻 烦|能 不 能|ください|お願い|お 願 い|てほしい|해 줘|주 세 요|해 주 세 요|부 탁",
    ),
    (
        Cue::Question,
        "what|which|who|whom|whose|where|when|why|how|was|welche|welcher|welches|wer|wo|wann|warum|wie|quel|quelle|\
         quels|quelles|qui|où|quand|pourquoi|comment|que|quoi|qué|cuál|cuáles|quién|dónde|cuándo|por qué|cómo|что|\
         какой|какая|какое|какие|кто|где|когда|почему|как|зачем|什 么|哪|谁|哪 里|何 时|为 什 么|怎 么|如 何|吗|何|誰|どこ|いつ|なぜ|どう|か|\
         무 엇|누 가|어 디|언 제|왜|어 떻 게|뭐",
    ),
    (
        Cue::Past,
        "was|were|did|had|happened|been|wurde|wurden|hat|gelöscht|a été|était|fue|ha sido|было|был|была|были|удалён|\
         удалена|了|した|ました|었|했",
    ),
];
