// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/manual/page_document.h"

#include <QFontMetricsF>
#include <QRegularExpression>
#include <QTextCursor>
#include <QTextDocumentFragment>
#include <QTextFrame>
#include <QTextList>
#include <QTextOption>
#include <QTextTable>
#include <algorithm>
#include <cmath>
#include <vector>

#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr QChar kBreak(0x200B);    // zero-width space, at which code can be broken
constexpr int kUnbrokenName = 14;  // longer names in code can also be broken after an underscore
constexpr double kHeadingSizes[] = {1.7, 1.3, 1.1};
constexpr double kFrameExcess = 2;  // pixels by which Qt makes a frame with a border too wide
constexpr double kCodeSize = 0.92, kMinCodeScale = 0.8, kLineHeight = 125, kTableLineHeight = 108,
                 kCodeLineHeight = 115;  // line height of code relative to that of text, in percent

bool is_code_block(const QTextBlock& block) {
  return block.blockFormat().hasProperty(QTextFormat::BlockCodeFence) ||
         block.blockFormat().hasProperty(QTextFormat::BlockCodeLanguage);
}

bool has_picture(const QTextBlock& block) {
  for (auto at = block.begin(); !at.atEnd(); ++at)
    if (at.fragment().charFormat().isImageFormat()) return true;
  return false;
}

QTextCursor cursor_over(const QTextBlock& first, const QTextBlock& last) {
  QTextCursor cursor(first);
  cursor.setPosition(last.position() + last.length() - 1, QTextCursor::KeepAnchor);
  return cursor;
}

QFont code_font(double scale = 1) {
  QFont font = Theme::instance().fixed_font();
  font.setPointSizeF(font.pointSizeF() * kCodeSize * scale);
  return font;
}

QTextCharFormat code_format(double scale = 1) {
  const QFont font = code_font(scale);
  QTextCharFormat format;
  format.setFontFamilies({font.family()});
  format.setFontFixedPitch(true);
  format.setFontPointSize(font.pointSizeF());
  return format;
}

void format_heading(const QTextBlock& block) {
  const Theme& theme = Theme::instance();
  const auto level = static_cast<std::size_t>(block.blockFormat().headingLevel());
  const double size = kHeadingSizes[std::min<std::size_t>(level, std::size(kHeadingSizes)) - 1];
  QTextCharFormat text;
  text.setFontPointSize(theme.font(size).pointSizeF());
  text.setFontWeight(QFont::DemiBold);
  text.setForeground(colors().text);
  QTextCursor cursor = cursor_over(block, block);
  cursor.setCharFormat(text);  // replaces Qt's format, which gives headings a relative font size
  QTextBlockFormat around;
  around.setTopMargin(level == 1 ? 0 : theme.pixels(level == 2 ? 3 * kGrid : 2 * kGrid));
  around.setBottomMargin(theme.pixels(kGrid));
  cursor.mergeBlockFormat(around);
}

void format_paragraph(const QTextBlock& block) {
  QTextBlockFormat around;
  if (!has_picture(block)) around.setLineHeight(kLineHeight, QTextBlockFormat::ProportionalHeight);
  const bool in_list = block.textList() != nullptr;
  around.setTopMargin(0);
  around.setBottomMargin(Theme::instance().pixels(in_list ? kGrid / 2 : kGrid));
  QTextCursor(block).mergeBlockFormat(around);
}

// Gives inline code the fixed font and a background.
void format_inline_code(const QTextBlock& block) {
  std::vector<std::pair<int, int>> codes;  // (position, length) of each piece of inline code
  for (auto at = block.begin(); !at.atEnd(); ++at)
    if (const QTextFragment part = at.fragment(); part.charFormat().fontFixedPitch())
      codes.emplace_back(part.position(), part.length());
  QTextCharFormat format = code_format();
  if (!is_code_block(block)) format.setBackground(colors().tile);
  for (const auto& [position, length] : codes) {
    QTextCursor cursor(block);
    cursor.setPosition(position);
    cursor.setPosition(position + length, QTextCursor::KeepAnchor);
    cursor.mergeCharFormat(format);
  }
}

void format_table(QTextTable& table) {
  const Theme& theme = Theme::instance();
  QTextTableFormat format = table.format();
  format.setBorder(1);
  format.setBorderStyle(QTextFrameFormat::BorderStyle_Solid);
  format.setBorderBrush(colors().border);
  format.setBorderCollapse(true);
  format.setCellSpacing(0);
  format.setCellPadding(theme.pixels(0.75 * kGrid));
  format.setTopMargin(theme.pixels(kGrid / 2.0));
  format.setBottomMargin(theme.pixels(1.5 * kGrid));
  format.setHeaderRowCount(1);
  format.clearColumnWidthConstraints();
  table.setFormat(format);
  for (int column = 0; column < table.columns(); ++column) {
    QTextTableCell cell = table.cellAt(0, column);
    QTextCharFormat header = cell.format();
    header.setBackground(colors().tile);
    cell.setFormat(header);
    QTextCursor text = cell.firstCursorPosition();
    text.setPosition(cell.lastCursorPosition().position(), QTextCursor::KeepAnchor);
    QTextCharFormat bold;
    bold.setFontWeight(QFont::DemiBold);
    text.mergeCharFormat(bold);
  }
  for (QTextBlock block = table.firstCursorPosition().block();
       block.isValid() && block.position() <= table.lastPosition(); block = block.next()) {
    QTextBlockFormat tight;
    tight.setTopMargin(0);
    tight.setBottomMargin(0);
    tight.setLineHeight(kTableLineHeight, QTextBlockFormat::ProportionalHeight);
    QTextCursor(block).mergeBlockFormat(tight);
  }
}

// Removes an empty line from a table that follows a code block. Qt moves the line at the end of a
// code block behind the block's frame. If a table follows, this line becomes a line in the table's
// first cell.
void remove_line_in_table(QTextBlock behind) {
  if (!QTextCursor(behind).currentTable()) behind = behind.next();
  QTextCursor cursor(behind);
  if (!behind.isValid() || !cursor.currentTable() || behind.length() > 1) return;
  const QTextTableCell cell = cursor.currentTable()->cellAt(cursor);
  if (cell.lastCursorPosition().block() != behind) cursor.deleteChar();
}

// Returns the factor, at most 1, by which the font of a code block must be scaled so that its
// longest line is at most `width` pixels wide. Returns 1 if the lines would then be too small to
// read.
double code_scale(const QTextBlock& first, const QTextBlock& last, double width) {
  const QFontMetricsF metrics(code_font());
  double longest = 1;
  for (QTextBlock block = first; block.isValid(); block = block.next()) {
    longest = std::max(longest, metrics.horizontalAdvance(block.text()));
    if (block == last) break;
  }
  const double scale = std::min(1.0, width / longest);
  return scale < kMinCodeScale ? 1 : scale;
}

// Puts the lines of a code block on a background, with space around them.
void format_code_block(const QTextBlock& first, const QTextBlock& last, int width) {
  const Theme& theme = Theme::instance();
  const double padding = theme.pixels(kGrid) + kFrameExcess;
  const double scale = code_scale(first, last, width - 2 * padding);
  QTextFrameFormat around;
  around.setBackground(colors().tile);
  around.setBorder(1);
  around.setBorderStyle(QTextFrameFormat::BorderStyle_Solid);
  around.setBorderBrush(colors().border);
  around.setPadding(theme.pixels(kGrid));
  around.setRightMargin(kFrameExcess);
  around.setTopMargin(theme.pixels(kGrid / 2.0));
  around.setBottomMargin(theme.pixels(kGrid));
  const QTextFrame* frame = cursor_over(first, last).insertFrame(around);
  QTextCursor lines = frame->firstCursorPosition();
  lines.setPosition(frame->lastPosition(), QTextCursor::KeepAnchor);
  QTextBlockFormat line;
  line.setNonBreakableLines(false);
  line.setTopMargin(0);
  line.setBottomMargin(0);
  line.setLeftMargin(0);
  line.setLineHeight(kCodeLineHeight, QTextBlockFormat::ProportionalHeight);
  lines.mergeBlockFormat(line);
  lines.mergeCharFormat(code_format(scale));
  remove_line_in_table(frame->lastCursorPosition().block().next());
}

// Limits running text to a readable width; tables and code may be wider.
void narrow_text(QTextDocument& document, const PageWidths& widths) {
  QTextBlockFormat narrow;
  narrow.setRightMargin(widths.page - widths.text);
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next())
    if (QTextCursor cursor(block);
        cursor.currentFrame() == document.rootFrame() && !has_picture(block))
      cursor.mergeBlockFormat(narrow);
}

// Reduces the empty blocks that Qt leaves behind frames to a height of one pixel.
void hide_empty_blocks(QTextDocument& document) {
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
    if (block.length() > 1 || QTextCursor(block).currentFrame() != document.rootFrame()) continue;
    QTextBlockFormat flat;
    flat.setTopMargin(0);
    flat.setBottomMargin(0);
    flat.setLineHeight(1, QTextBlockFormat::FixedHeight);
    QTextCursor(block).mergeBlockFormat(flat);
  }
}

}  // namespace

int column_width(const QFont& font, int characters) {
  static const QString sample =
      "Each rank reduces the gradients of a bucket while the next layers still compute. ";
  return static_cast<int>(std::ceil(QFontMetricsF(font).horizontalAdvance(sample) /
                                    static_cast<double>(sample.size()) * characters));
}

QString breakable(QString code) {
  int segment = 0;  // start of the current name in a path
  const auto length_of_name = [&] {
    static const QRegularExpression end("[./|]");
    const auto found = code.indexOf(end, segment);
    return (found < 0 ? code.size() : found) - segment;
  };
  for (int at = 0; at + 1 < code.size(); ++at) {
    const bool ends_name = QString("./|").contains(code[at]);
    if (!ends_name && (code[at] != '_' || length_of_name() <= kUnbrokenName)) continue;
    code.insert(++at, kBreak);
    if (ends_name) segment = at + 1;
  }
  return code;
}

QString without_breaks(QString text) { return text.remove(kBreak); }

QString markdown_of(const manual::Page& page) {
  QStringList lines = QString::fromStdString(page.text).split('\n');
  bool fenced = false;
  for (QString& line : lines) {
    if (line.trimmed().startsWith("```")) fenced = !fenced;
    if (fenced || !line.trimmed().startsWith('|')) continue;
    QStringList parts = line.split('`');  // every second part, at odd indices, is code
    for (int i = 1; i + 1 < parts.size(); i += 2) parts[i] = breakable(parts[i]);
    line = parts.join('`');
  }
  return lines.join('\n');
}

void format_page(QTextDocument& document, const PageWidths& widths) {
  document.setDefaultFont(Theme::instance().font());
  QTextOption option = document.defaultTextOption();
  option.setWrapMode(QTextOption::WordWrap);
  document.setDefaultTextOption(option);
  document.setIndentWidth(Theme::instance().pixels(3 * kGrid));
  std::vector<std::pair<QTextBlock, QTextBlock>> codes;
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
    if (is_code_block(block)) {
      if (codes.empty() || codes.back().second.next() != block ||
          block.blockFormat() != codes.back().second.blockFormat())
        codes.emplace_back(block, block);
      else codes.back().second = block;
      continue;
    }
    if (block.blockFormat().headingLevel() > 0) format_heading(block);
    else format_paragraph(block);
    format_inline_code(block);
  }
  for (QTextFrame* frame : document.rootFrame()->childFrames())
    if (auto* table = qobject_cast<QTextTable*>(frame)) format_table(*table);
  for (auto at = codes.rbegin(); at != codes.rend(); ++at)
    format_code_block(at->first, at->second, widths.page);
  narrow_text(document, widths);
  hide_empty_blocks(document);
}

void fit_pictures(QTextDocument& document, int width,
                  const std::function<QSize(const QString& name)>& size_of) {
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next())
    for (auto at = block.begin(); !at.atEnd(); ++at) {
      const QTextFragment part = at.fragment();
      if (!part.charFormat().isImageFormat()) continue;
      QTextImageFormat format = part.charFormat().toImageFormat();
      const QSize full = size_of(format.name());
      if (full.isEmpty()) continue;
      const int shown = std::min(width, full.width());
      const int height = full.height() * shown / full.width();
      format.setWidth(shown);
      format.setHeight(height);
      QTextCursor cursor(&document);
      cursor.setPosition(part.position());
      cursor.setPosition(part.position() + part.length(), QTextCursor::KeepAnchor);
      cursor.setCharFormat(format);
      break;  // the iterator is not valid after a change; a block has one picture
    }
}

void set_margins(QTextDocument& document, int horizontal, int vertical) {
  QTextFrameFormat format = document.rootFrame()->frameFormat();
  format.setLeftMargin(horizontal);
  format.setRightMargin(horizontal);
  format.setTopMargin(vertical);
  format.setBottomMargin(vertical);
  document.rootFrame()->setFrameFormat(format);
}

std::map<QString, QTextBlock> headings_of(const QTextDocument& document, const manual::Page& page) {
  std::map<QString, QTextBlock> headings;
  std::size_t section = 0;
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
    if (block.blockFormat().headingLevel() == 0 || section >= page.sections.size()) continue;
    headings[QString::fromStdString(page.sections[section++].slug)] = block;
  }
  return headings;
}

}  // namespace trainyard::ui
