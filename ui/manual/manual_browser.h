// SPDX-License-Identifier: GPL-3.0-or-later
// Browser for the pages of the manual. It follows links between pages, goes back and forward, and
// shows pictures at most as wide as the page.
#pragma once

#include <QImage>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTimer>
#include <map>
#include <vector>

#include "core/manual/manual.h"
#include "ui/manual/page_document.h"

namespace trainyard::ui {

class ManualBrowser : public QTextBrowser {
  Q_OBJECT
 public:
  // `directory` contains the pages. `manual` must outlive the browser.
  ManualBrowser(const manual::Manual& manual, const QString& directory, QWidget* parent = nullptr);

  // Shows a location in the manual and adds the previous one to the history.
  void show_place(const manual::ManualLocation& place);
  void highlight_words(const QStringList& words);  // highlights the words on the page
  const manual::ManualLocation& place() const { return now_.place; }
  QString page_title() const;
  bool can_go_back() const { return !back_.empty(); }
  bool can_go_forward() const { return !forward_.empty(); }
  void go_back();
  void go_forward();

  QVariant loadResource(int type, const QUrl& name) override;

 signals:
  void place_changed();
  void external_link(const QUrl& url);  // requests that the desktop opens this link

 protected:
  void changeEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  QMimeData* createMimeDataFromSelection() const override;

 private:
  struct Visit {
    manual::ManualLocation place;
    int scrolled = 0;
  };

  void follow(const QUrl& url);
  void visit(const Visit& visit);
  void render();
  void render_again();
  void fit_width(QTextDocument& page);
  void scroll_to(const manual::ManualLocation& place);
  QImage picture(const QString& name);
  PageWidths widths() const;
  QTextCursor find_word(const QString& word, int from) const;

  const manual::Manual& manual_;
  QString directory_;
  Visit now_;
  std::vector<Visit> back_, forward_;
  std::map<QString, QTextBlock> headings_;
  std::map<QString, QImage> pictures_;  // pictures in full size, by path
  QStringList words_;
  bool at_place_ = false;  // true if the user has not scrolled since the place was shown
  QString rendered_;       // file of the page that is currently rendered
  QTimer delay_timer_;     // renders again after changes of theme or font
};

}  // namespace trainyard::ui
