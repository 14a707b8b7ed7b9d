// SPDX-License-Identifier: GPL-3.0-or-later
// Appearance of a manual page as a QTextDocument. Qt reads the Markdown; headings, tables, code and
// pictures are then formatted for the theme.
#pragma once

#include <QFont>
#include <QSize>
#include <QString>
#include <QTextBlock>
#include <QTextDocument>
#include <functional>
#include <map>

#include "core/manual/page.h"

namespace trainyard::ui {

inline QString to_qstring(const std::string& utf8) { return QString::fromStdString(utf8); }

// Returns the width in pixels of a column of text with `characters` characters per line.
int column_width(const QFont& font, int characters);

// Returns the page as Markdown that Qt can read. In tables, zero-width spaces are added to code
// after dots, and after underscores of long names. They allow line breaks, because paths are wider
// than columns.
QString markdown_of(const manual::Page& page);
// `breakable` adds zero-width spaces to code, as `markdown_of` does in tables. `without_breaks`
// removes zero-width spaces from text that the user has selected.
QString breakable(QString code);
QString without_breaks(QString text);

// Widths of a page in pixels. Text has short lines; tables and code may use the full page.
struct PageWidths {
  int page = 0;  // from the left edge of the text to the right edge of tables and code
  int text = 0;  // at most `page`
};

// Formats a document whose text was returned by `markdown_of`, except for its pictures
// (`fit_pictures`). Words in tables are never broken. The font of code is reduced, within limits,
// so that the code's lines fit; longer lines wrap.
void format_page(QTextDocument& document, const PageWidths& widths);
// Makes pictures at most `width` pixels wide. `size_of` returns the size of a picture by its name.
void fit_pictures(QTextDocument& document, int width,
                  const std::function<QSize(const QString& name)>& size_of);
void set_margins(QTextDocument& document, int horizontal, int vertical);

// Returns the blocks of headings by slug. They are needed because Qt 6.4 gives Markdown headings no
// anchors.
std::map<QString, QTextBlock> headings_of(const QTextDocument& document, const manual::Page& page);

}  // namespace trainyard::ui
